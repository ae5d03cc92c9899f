//! `hakmem ab`: two allocators against each other, with a verdict.

use anyhow::bail;

use crate::bench::ab_args::{AbArgs, Plan};
use crate::bench::bench_cmd::warn_unoptimised;
use crate::bench::comparison::{Comparison, Identical};
use crate::bench::progress::Progress;
use crate::bench::side::{Side, Sides, Wanted};
use crate::bench::subject::Subject;
use crate::bench::verdict::Verdict;
use crate::bench::{interrupt, knobs_cmd, report, table};
use crate::text;

/// Compares and reports. Whether the verdict is one that `--check` does not let pass.
pub fn ab(args: &AbArgs) -> anyhow::Result<bool> {
    interrupt::watch()?;
    match args.plan().map_err(anyhow::Error::msg)? {
        Plan::Sides(wanted, workload) => {
            let comparison = sides(args, &wanted, &subject(args, workload)?)?;
            Ok(args.check && comparison.verdict == Verdict::NoGo)
        }
        Plan::Knobs(preset, workload) => {
            knobs_cmd::knobs(args, &preset, &subject(args, workload)?)?;
            Ok(false)
        }
    }
}

/// The program, or else the workload.
fn subject(args: &AbArgs, workload: &'static hakmem_workloads::Workload) -> anyhow::Result<Subject> {
    match args.program.is_empty() {
        true => {
            warn_unoptimised();
            Ok(Subject::Workload(workload, args.scale))
        }
        false => Subject::program(&args.program, args.show, args.ignore_exit),
    }
}

fn sides(args: &AbArgs, wanted: &[Wanted; 2], subject: &Subject) -> anyhow::Result<Comparison> {
    let mut makers = Sides::default();
    let sides: [Side; 2] = makers.make_all(wanted)?.try_into().expect("two are wanted");
    let method = args.method();
    let progress = Progress::new(method.least_runs());
    let compared = method.compare(subject, &sides, &progress)?;
    drop(progress);
    let Ok(comparison) = compared.map_err(|Identical| ()) else {
        bail!(
            "{} and {} are the same code: nothing but noise would be measured. Remedy: name sides that differ; \
             to see how large the noise is, pass --allow-identical",
            sides[0].name,
            sides[1].name
        );
    };
    text::print(&match args.json {
        true => format!("{:#}\n", report::ab_json(subject, &comparison)),
        false => table::ab(subject, &comparison),
    })?;
    Ok(comparison)
}
