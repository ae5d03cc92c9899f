//! Servers and their clients on the loopback interface: redis, postgresql.

use crate::case::{Case, Run, missing};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const HOST: &str = "127.0.0.1";
/// The user that owns nothing on any Linux system: postgresql refuses to be root.
const NOBODY: u32 = 65534;

/// What redis-benchmark measures; its longer ranges take a minute.
const REQUESTS: &str = "set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin,lrange_100,mset";

/// A port that nobody listens on.
fn free_port() -> String {
    let listener = TcpListener::bind((HOST, 0)).expect("the loopback interface is up");
    listener.local_addr().expect("it is bound").port().to_string()
}

/// Whether a client of the server says that it takes requests.
fn answers(mut command: Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[test]
fn redis() {
    let case = Case {
        name: "redis-server",
        did: "a script over every type, redis-benchmark, orderly shutdown",
        needs: &["redis-server", "redis-cli", "redis-benchmark"],
        probes: &[
            ("redis-server", &["redis-server", "--version"]),
            ("redis-cli", &["redis-cli", "--version"]),
            ("redis-benchmark", &["redis-benchmark", "--version"]),
        ],
        own_malloc: false,
    };
    case.check(|run| {
        run.script("fill.lua");
        let port = free_port();
        let client = |args: &[&str]| {
            let mut command = run.command("redis-cli");
            command.args(["-h", HOST, "-p", &port]).args(args);
            command
        };
        let mut command = run.command("redis-server");
        command.args(["--bind", HOST, "--port", &port, "--save", "", "--appendonly", "no", "--daemonize", "no"]);
        command.args(["--enable-debug-command", "local", "--io-threads", "2"]);
        let mut server = run.serve(command, libc::SIGTERM);
        server.wait_until(|| answers(client(&["ping"])));
        run.assert_maps(&server);

        for request in [
            &["--eval", "fill.lua"][..],
            &["DEBUG", "DIGEST"],
            &["SORT", "set:7", "LIMIT", "0", "30", "DESC"],
            &["BITCOUNT", "large"],
            &["PFCOUNT", "distinct"],
            &["DEBUG", "RELOAD"],
            &["DEBUG", "DIGEST"],
        ] {
            let output = run.finish(client(request));
            assert!(!output.stdout.contains("ERR"), "{request:?}: {}", output.stdout);
            run.record(&request.join(" "), output.stdout);
        }
        let mut command = run.command("redis-benchmark");
        command
            .args(["-h", HOST, "-p", &port, "-q", "-n", "20000", "-r", "10000", "-c", "20", "-P", "16", "-d", "100"]);
        command.args(["--threads", "2", "-t", REQUESTS]);
        let output = run.finish(command);
        // Which requests were measured; the figures differ between any two runs.
        let lines = output.stdout.split(['\n', '\r']).filter(|line| line.contains("requests per second"));
        let names: Vec<&str> = lines.filter_map(|line| line.split(':').next()).collect();
        assert!(names.len() > 10, "the benchmark measured {names:?}");
        run.record("requests of the benchmark", names.join("\n"));
        let output = run.finish(client(&["FLUSHALL", "SYNC"]));
        run.record("flush", output.stdout);

        let output = server.stop();
        run.assert_sound("redis-server", &output);
        assert!(output.stdout.contains("bye bye"), "{}", output.stdout);
    });
}

/// The directory with the programs of the newest postgresql.
fn postgresql() -> Option<PathBuf> {
    let versions = Path::new("/usr/lib/postgresql").read_dir().ok()?;
    let version = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let newest = versions.filter_map(|entry| Some(entry.ok()?.path())).max_by_key(version)?;
    let programs = newest.join("bin");
    ["initdb", "postgres", "pgbench", "psql"].iter().all(|name| programs.join(name).is_file()).then_some(programs)
}

/// Runs one of its programs as the owner of the run's directory.
fn database(run: &Run, programs: &Path, name: &str, args: &[&str]) -> Command {
    let owner = run.path("").metadata().expect("the run's directory").uid();
    let mut command = run.command(programs.join(name));
    if owner == NOBODY {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.args(args);
    command
}

#[test]
fn postgres() {
    let mut case = Case {
        name: "postgresql",
        did: "initdb, pgbench with four clients, queries and procedures, fast shutdown",
        needs: &[],
        probes: &[],
        own_malloc: false,
    };
    if !case.possible() {
        return;
    }
    let Some(programs) = postgresql() else {
        return missing("postgresql");
    };
    let paths = ["postgres", "initdb", "pgbench", "psql"].map(|name| programs.join(name).display().to_string());
    let probe = paths.each_ref().map(|path| [path.as_str(), "--version"]);
    let probes = probe.each_ref().map(|probe| (probe[0], &probe[..]));
    case.probes = &probes;
    case.check(|run| {
        let dir = run.path("");
        if dir.metadata().expect("the run's directory").uid() == 0 {
            chown(&dir, Some(NOBODY), Some(NOBODY)).expect("root may");
        }
        run.script("queries.sql");
        let command = |name: &str, args: &[&str]| database(run, &programs, name, args);
        let initdb = ["-D", "data", "-U", "test", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
        let output = run.finish(command("initdb", &initdb));
        assert!(output.stdout.contains("Success."), "{}", output.stdout);

        let port = free_port();
        let listen = format!("listen_addresses={HOST}");
        let server = ["-D", "data", "-p", &port, "-c", &listen, "-c", "unix_socket_directories=", "-c", "fsync=off"];
        let mut server = run.serve(command("postgres", &server), libc::SIGINT);
        let connect = ["-h", HOST, "-p", &port, "-U", "test"];
        let psql = |args: &[&str]| {
            command("psql", &[&connect[..], &["-X", "-v", "ON_ERROR_STOP=1"], args, &["postgres"]].concat())
        };
        server.wait_until(|| answers(psql(&["-c", "select 1"])));
        run.assert_maps(&server);

        run.finish(command("pgbench", &[&connect[..], &["-i", "-q", "-s", "2", "postgres"]].concat()));
        let load = ["-c", "4", "-j", "2", "-t", "300", "--random-seed=5", "postgres"];
        let output = run.finish(command("pgbench", &[&connect[..], &load].concat()));
        let counts = output.stdout.lines().filter(|line| line.starts_with("number of ") && !line.contains("tries"));
        run.record("what pgbench did", counts.collect::<Vec<_>>().join("\n"));
        let output = run.finish(psql(&["-A", "-f", "queries.sql"]));
        run.record("answers to the queries", output.stdout);
        let output = server.stop();
        run.assert_sound("postgres", &output);
    });
}
