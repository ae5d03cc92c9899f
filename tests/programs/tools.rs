//! Tools of other kinds: ghostscript, stress-ng, a browser.

use crate::case::Case;

#[test]
fn ghostscript() {
    let case = Case {
        name: "ghostscript",
        did: "six pages of text, paths and images as PNG and as PGM",
        needs: &["gs"],
        probes: &[("gs", &["gs", "--version"])],
        own_malloc: false,
    };
    case.check(|run| {
        run.script("pages.ps");
        for (device, end) in [("png16m", "png"), ("pgmraw", "pgm")] {
            let device = format!("-sDEVICE={device}");
            let out = format!("-sOutputFile=page%d.{end}");
            run.compared("gs", &["-q", "-dBATCH", "-dNOPAUSE", "-dSAFER", "-r100", &device, &out, "pages.ps"]);
            for page in 1..=6 {
                run.file(&format!("page{page}.{end}"));
            }
        }
    });
}

#[test]
fn stress() {
    let case = Case {
        name: "stress-ng",
        did: "--malloc with threads of its own, every block verified",
        needs: &["stress-ng"],
        probes: &[("stress-ng", &["stress-ng", "--version"])],
        own_malloc: false,
    };
    case.check(|run| {
        let mut command = run.command("stress-ng");
        command.args(["--malloc", "2", "--malloc-ops", "60000", "--malloc-bytes", "1M", "--malloc-max", "4096"]);
        command.args(["--malloc-pthreads", "2", "--verify", "--seed", "7"]);
        let output = run.finish(command);
        // The rest of its words are numbers of processes and times.
        let says = |text: &str| output.stdout.contains(text) || output.stderr.contains(text);
        assert!(says("successful run completed") && !says("fail:"), "{}{}", output.stdout, output.stderr);
        run.record("verdict", "successful run completed");
    });
}

#[test]
fn chromium() {
    let case = Case {
        name: "chromium",
        did: "a local page headless: script, layout and canvas, its tree dumped",
        needs: &["chromium"],
        probes: &[("chromium", &["chromium", "--version"])],
        // PartitionAlloc, which its executable exports as malloc. Its libraries find that one too.
        own_malloc: true,
    };
    case.check(|run| {
        run.script("page.html");
        let mut command = run.command("chromium");
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        command.arg(format!("--user-data-dir={}", run.path("profile").display()));
        command.arg("--dump-dom").arg(format!("file://{}", run.path("page.html").display()));
        let output = run.finish(command);
        assert!(output.stdout.contains("<title>loaded "), "{}\n{}", output.stdout, output.stderr);
        run.record("the page's tree", output.stdout);
    });
}
