//! What follows for hakmem from what the system tells about itself.

use super::check::Check;
use super::system::System;
use crate::text::bytes;

/// Bytes of address space that the page map takes where it is reserved whole.
const PAGE_MAP: u64 = 2 << 30;
/// Bytes of address space with which a program still starts.
const LEAST: u64 = 24 << 20;
/// The kernel's own limit of mappings.
const MAPPINGS: u64 = 65530;
/// What the library is built for.
const PAGE: usize = 4096;

impl System {
    /// What follows.
    pub fn judge(&self) -> Vec<Check> {
        vec![
            self.system(),
            self.libc(),
            Check::ok("kernel", &self.kernel),
            self.pages(),
            self.limit(),
            self.overcommit(),
            self.mappings(),
            self.huge_pages(),
            self.processors(),
        ]
    }

    fn system(&self) -> Check {
        let name = self.distribution.as_deref().unwrap_or(&self.kernel_name);
        let found = format!("{name}, {}", self.machine);
        match (self.kernel_name.as_str(), self.machine.as_str()) {
            ("Linux", "x86_64") => Check::ok("system", found),
            _ => Check::problem("system", found, "use hakmem on Linux on x86-64; it is made for nothing else"),
        }
    }

    fn libc(&self) -> Check {
        match &self.glibc {
            Some(version) => Check::ok("glibc", version),
            None => Check::problem("glibc", "this process runs without it", "use a system with glibc"),
        }
    }

    fn pages(&self) -> Check {
        match self.page {
            PAGE => Check::ok("page-size", bytes(PAGE)),
            other => Check::problem("page-size", bytes(other), format!("use a kernel with pages of {}", bytes(PAGE))),
        }
    }

    fn limit(&self) -> Check {
        let name = "address-space";
        let Some(limit) = self.address_space else { return Check::ok(name, "no limit") };
        let found = format!("limited to {} (RLIMIT_AS)", bytes(usize::try_from(limit).unwrap_or(usize::MAX)));
        let remedy = "`ulimit -v unlimited`";
        if limit < LEAST {
            return Check::problem(name, format!("{found}, in which programs do not start under hakmem"), remedy);
        }
        let effect = if limit <= PAGE_MAP {
            "the page map does not fit as a whole: parts of it exist, and a pointer far from all that a program has is a \
             segmentation fault when it is freed"
        } else {
            "2 GiB of it go to the page map, if there is room for it in one piece"
        };
        Check::note(name, format!("{found}: {effect}")).remedy(remedy)
    }

    fn overcommit(&self) -> Check {
        let name = "overcommit-memory";
        match self.overcommit {
            Some(0) => Check::ok(name, "0: what is obviously too much is refused"),
            Some(1) => Check::ok(name, "1: nothing is refused"),
            Some(2) => Check::note(
                name,
                "2: what exceeds the commit limit is refused, and malloc returns NULL. The page map is not charged",
            ),
            other => unknown(name, other),
        }
    }

    fn mappings(&self) -> Check {
        let name = "max-map-count";
        match self.mappings {
            Some(count) if count >= MAPPINGS => Check::ok(name, count.to_string()),
            Some(count) => Check::note(name, format!("{count}: less than usual; beyond it, malloc returns NULL"))
                .remedy(format!("`sysctl vm.max_map_count={MAPPINGS}`")),
            None => unknown(name, None),
        }
    }

    fn huge_pages(&self) -> Check {
        let name = "huge-pages";
        match self.huge_pages.as_deref() {
            Some("madvise") => Check::ok(name, "madvise: for who asks; with the knob thp-auto, large heaps do"),
            Some("always") => Check::note(
                name,
                "always: everybody gets them, with the knob thp-auto and without; programs may be larger in memory",
            )
            .remedy("`echo madvise > /sys/kernel/mm/transparent_hugepage/enabled` leaves it to the knob"),
            Some("never") => Check::note(name, "never: the knob thp-auto changes nothing")
                .remedy("`echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`"),
            _ => Check::note(name, "the kernel has none: the knob thp-auto changes nothing"),
        }
    }

    fn processors(&self) -> Check {
        let name = "processors";
        let (Some(online), Some(allowed)) = (self.online, self.allowed) else { return unknown(name, None) };
        if allowed < online {
            return Check::note(name, format!("this process may run on {allowed} of {online}"))
                .remedy("see taskset, and the cpuset of the container");
        }
        match self.parallel {
            Some(parallel) if parallel < allowed => {
                Check::note(name, format!("{allowed}, but a quota (cgroup) gives the time of {parallel}"))
            }
            _ if allowed == 1 => Check::note(name, "1: what is measured with several threads says little"),
            _ => Check::ok(name, format!("{allowed}, all of which this process may run on")),
        }
    }
}

fn unknown(name: &'static str, value: Option<u64>) -> Check {
    Check::note(
        name,
        value.map_or("not known: it cannot be read".into(), |value| format!("{value}, which is not known")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::check::State;

    fn usual() -> System {
        System {
            distribution: Some("Debian GNU/Linux 12 (bookworm)".into()),
            kernel_name: "Linux".into(),
            kernel: "6.1.0".into(),
            machine: "x86_64".into(),
            glibc: Some("2.36".into()),
            page: 4096,
            address_space: None,
            overcommit: Some(0),
            mappings: Some(65530),
            huge_pages: Some("madvise".into()),
            online: Some(4),
            allowed: Some(4),
            parallel: Some(4),
        }
    }

    #[track_caller]
    fn assert_judged(system: System, name: &str, state: State, said: &str) {
        let checks = system.judge();
        let check = checks.iter().find(|check| check.name == name).unwrap();
        assert!(check.state == state && check.found.contains(said), "{check:?}");
        let others = checks.iter().filter(|check| check.name != name);
        assert!(others.into_iter().all(|check| check.state == State::Ok), "{checks:?}");
    }

    #[test]
    fn a_usual_system_is_all_right() {
        assert!(usual().judge().iter().all(|check| check.state == State::Ok && check.remedy.is_none()));
    }

    #[test]
    fn what_hakmem_is_not_made_for_is_a_problem() {
        use State::Problem;
        assert_judged(System { machine: "aarch64".into(), ..usual() }, "system", Problem, "aarch64");
        assert_judged(System { kernel_name: "FreeBSD".into(), ..usual() }, "system", Problem, "x86_64");
        assert_judged(System { glibc: None, ..usual() }, "glibc", Problem, "without");
        assert_judged(System { page: 16384, ..usual() }, "page-size", Problem, "16 KiB");
        assert_judged(System { address_space: Some(16 << 20), ..usual() }, "address-space", Problem, "16 MiB");
    }

    #[test]
    fn what_changes_how_it_works_is_a_note() {
        use State::Note;
        let limited = |limit| System { address_space: Some(limit), ..usual() };
        assert_judged(limited(24 << 20), "address-space", Note, "does not fit");
        assert_judged(limited(2 << 30), "address-space", Note, "does not fit");
        assert_judged(limited(4 << 30), "address-space", Note, "if there is room");
        assert_judged(System { overcommit: Some(2), ..usual() }, "overcommit-memory", Note, "NULL");
        assert_judged(System { overcommit: None, ..usual() }, "overcommit-memory", Note, "not known");
        assert_judged(System { mappings: Some(1000), ..usual() }, "max-map-count", Note, "1000");
        for (setting, said) in [(Some("always"), "everybody"), (Some("never"), "changes nothing"), (None, "has none")] {
            let huge_pages = setting.map(Into::into);
            assert_judged(System { huge_pages, ..usual() }, "huge-pages", Note, said);
        }
        assert_judged(System { allowed: Some(2), parallel: Some(2), ..usual() }, "processors", Note, "2 of 4");
        assert_judged(System { parallel: Some(1), ..usual() }, "processors", Note, "quota");
        assert_judged(
            System { online: Some(1), allowed: Some(1), parallel: Some(1), ..usual() },
            "processors",
            Note,
            "1: ",
        );
    }
}
