//! Instructions per operation, counted by callgrind: the same in every run, whatever else the machine does.
//!
//! What counts is the calls from the driver into the allocator, and all that these do, in whichever library. The driver's
//! own instructions do not, nor do those that start-up and first uses cost: two runs of different length are compared.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::bail;
use hakmem_workloads::Workload;
use serde_json::Value;

use crate::bench::driver;
use crate::bench::proof::Mapping;
use crate::bench::side::Side;
use crate::bench::subject::{clean, this_executable};
use crate::remedy::OrRemedy;

/// The shorter run, of a workload's standard length; callgrind takes some fifty times as long as the processor.
const SHORT: f64 = 0.02;
/// The object of code that is in a section with a name of its own, as tcmalloc's is.
const UNKNOWN: &str = "???";
/// How much longer the other one is.
const LONGER: f64 = 3.0;

/// Whether callgrind is installed.
pub fn is_installed() -> bool {
    let version = Command::new("valgrind").arg("--version").stdin(Stdio::null()).output();
    version.is_ok_and(|output| output.status.success())
}

/// Instructions per operation of `workload` under `side`; no more of the workload than `scale`.
pub fn per_operation(workload: &Workload, scale: f64, side: &Side) -> anyhow::Result<f64> {
    let short = SHORT.min(scale);
    let (few, first) = count(workload, short, side)?;
    let (many, second) = count(workload, short * LONGER, side)?;
    let (more, operations) = (many.checked_sub(few), second.checked_sub(first).filter(|&operations| operations > 0));
    let (Some(more), Some(operations)) = (more, operations) else {
        bail!("a run that was longer cost less");
    };
    Ok(more as f64 / operations as f64)
}

/// Instructions and operations of one run.
fn count(workload: &Workload, scale: f64, side: &Side) -> anyhow::Result<(u64, u64)> {
    let directory = tempfile::tempdir()?;
    let profile = directory.path().join("callgrind.out");
    let mut command = Command::new("valgrind");
    clean(&mut command);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    if let Some(library) = &side.library {
        command.env("LD_PRELOAD", library);
    }
    command.args(["--tool=callgrind", "--quiet"]);
    command.arg(format!("--callgrind-out-file={}", profile.display())).arg(this_executable());
    command.args([driver::COMMAND, workload.name, "--scale", &scale.to_string()]).stdin(Stdio::null());
    let output = command.output()?;
    let line: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let files = line["driver"]["path"].as_str().zip(line["malloc"]["path"].as_str());
    let (true, Some(operations), Some((driver, malloc))) =
        (output.status.success(), line["operations"].as_u64(), files)
    else {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("valgrind failed ({}): {}", output.status, errors.lines().next_back().unwrap_or_default());
    };
    let profile = fs::read_to_string(&profile).or_remedy(|| "callgrind left no profile", "see to TMPDIR")?;
    let cost = cost_of_calls(&profile, driver, malloc);
    match cost {
        0 => bail!("callgrind saw no call from {driver} to {malloc}"),
        _ => Ok((cost, operations)),
    }
}

/// What the calls from the object `caller` to functions of the object `callee` cost, with all that these called.
///
/// Of the C library only functions that allocate or free count, since it has others. Elsewhere all do: `malloc` may have
/// several names, and callgrind takes any. Where it cannot tell the object, the function's name decides. Its format names each object and each function once, `ob=(ID) PATH`, and then
/// by its number alone; `cob=` and `cfn=` name those of the callee, which is in the caller's object if there is no
/// `cob=`. The line after `calls=` has the inclusive cost behind the position.
fn cost_of_calls(profile: &str, caller: &str, callee: &str) -> u64 {
    let (mut objects, mut functions) = (Names::default(), Names::default());
    let (mut object, mut callee_object, mut function) = (String::new(), None, String::new());
    let is_libc = Mapping::is_libc_path(Path::new(callee));
    let mut is_call = false;
    let mut sum = 0;
    for line in profile.lines() {
        if let Some(name) = line.strip_prefix("ob=") {
            object = objects.name(name);
        } else if let Some(name) = line.strip_prefix("cob=") {
            callee_object = Some(objects.name(name));
        } else if let Some(name) = line.strip_prefix("fn=") {
            functions.name(name);
        } else if let Some(name) = line.strip_prefix("cfn=") {
            function = functions.name(name);
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if std::mem::take(&mut is_call) {
            let to = callee_object.take().unwrap_or_else(|| object.clone());
            let counts =
                if to == callee { !is_libc || allocates(&function) } else { to == UNKNOWN && allocates(&function) };
            if object == caller && counts {
                sum += line.split(' ').nth(1).and_then(|cost| cost.parse::<u64>().ok()).unwrap_or(0);
            }
        }
    }
    sum
}

/// Whether a function allocates or frees, by its name.
fn allocates(function: &str) -> bool {
    ["alloc", "free", "memalign"].iter().any(|part| function.contains(part))
}

/// Names that are written once, with a number that stands for them from then on.
#[derive(Default)]
struct Names(HashMap<String, String>);

impl Names {
    /// The name of `(ID) NAME` or `(ID)`.
    fn name(&mut self, written: &str) -> String {
        match written.split_once(' ') {
            Some((id, name)) => {
                self.0.insert(id.into(), name.into());
                name.into()
            }
            None => self.0.get(written).cloned().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "\
version: 1
events: Ir
ob=(1) /x/hakmem
fn=(1) main
10 5
cob=(2) /x/lib.so
cfn=(2) malloc
calls=2 0
10 40
+1 3
cfn=(3) free_helper
calls=1 0
+1 1000
cob=(3) /x/libc.so.6
cfn=(4) memset
calls=1 0
* 500
cob=(3)
cfn=(7) posix_memalign
calls=1 0
* 60
cob=(4) ???
cfn=(8) calloc
calls=1 0
* 9
cob=(4)
cfn=(9) other
calls=1 0
* 7000

ob=(2)
fn=(2)
0 7
cob=(3)
cfn=(4)
calls=1 3
* 100
cob=(2)
cfn=(2)
calls=1 3
* 200

ob=(1)
fn=(5) other
11 9
cob=(2)
cfn=(6) tc_delete
calls=1 0
+3 16
";

    #[test]
    fn calls_are_summed_as_callgrind_writes_them() {
        assert_eq!(cost_of_calls(PROFILE, "/x/hakmem", "/x/lib.so"), 65);
        assert_eq!(cost_of_calls(PROFILE, "/x/lib.so", "/x/lib.so"), 200);
        assert_eq!(cost_of_calls(PROFILE, "/x/hakmem", "/x/libc.so.6"), 69);
        assert_eq!(cost_of_calls(PROFILE, "/x/lib.so", "/x/libc.so.6"), 0);
        assert_eq!(cost_of_calls("", "/x/hakmem", "/x/lib.so"), 0);
    }
}
