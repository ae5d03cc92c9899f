//! Goldens of the machine code: how many instructions of each kind every exported function of `libhakmem.so` has.
//!
//! Counted is a function's own body, from its symbol's address over its symbol's size: what it calls or jumps to, such
//! as the cold paths, is not part of it. A file in `tests/golden` holds the numbers of a preset and the compiler that
//! they are of; another compiler is free to emit other code, so then the test is skipped. What the hot paths may take
//! at most is held by `tests/library.rs` and `tests/hot_paths.rs` with every compiler.
//!
//! ```text
//! HAKMEM_GOLDEN=write cargo test --test golden
//! ```
//!
//! writes the files anew. The difference then shows in the commit.

mod support;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, OpKind};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Writes the goldens in place of comparing with them, if it is `write`.
const VARIABLE: &str = "HAKMEM_GOLDEN";
/// The command that does so.
const COMMAND: &str = "HAKMEM_GOLDEN=write cargo test --test golden";

/// A column: its name, and whether an instruction counts in it.
type Kind = (&'static str, fn(&Instruction) -> bool);

/// The kinds that are counted. An instruction that reads and writes memory is a load and a store; what pushes, pops,
/// calls and returns do to the stack is neither.
const KINDS: [Kind; 7] = [
    ("all", |_| true),
    ("loads", |instruction| accesses(instruction, reads)),
    ("stores", |instruction| accesses(instruction, writes)),
    ("conditional", |instruction| instruction.flow_control() == FlowControl::ConditionalBranch),
    ("jumps", |instruction| {
        [FlowControl::UnconditionalBranch, FlowControl::IndirectBranch].contains(&instruction.flow_control())
    }),
    ("calls", |instruction| [FlowControl::Call, FlowControl::IndirectCall].contains(&instruction.flow_control())),
    ("returns", |instruction| instruction.flow_control() == FlowControl::Return),
];

/// How many instructions of each of the [`KINDS`] there are.
type Counts = [usize; KINDS.len()];

/// Whether an operand in memory is accessed as `how` says.
fn accesses(instruction: &Instruction, how: fn(OpAccess) -> bool) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let in_memory = |operand: &u32| instruction.op_kind(*operand) == OpKind::Memory;
    (0..instruction.op_count()).filter(in_memory).any(|operand| how(info.op_access(operand)))
}

fn reads(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

/// The counts of a function whose bytes are `code`.
fn count(code: &[u8], address: u64) -> Counts {
    let mut counts = Counts::default();
    for instruction in Decoder::with_ip(64, code, address, DecoderOptions::NONE) {
        assert!(!instruction.is_invalid(), "no instruction at {:#x}", instruction.ip());
        for (count, (_, is)) in counts.iter_mut().zip(KINDS) {
            *count += usize::from(is(&instruction));
        }
    }
    counts
}

/// The counts of every function that the library at `path` exports.
fn exported(path: &Path) -> BTreeMap<String, Counts> {
    let data = fs::read(path).expect("the library was just built");
    let file = object::File::parse(&*data).expect("an ELF file");
    let functions = file.dynamic_symbols().filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text);
    let counts = functions.map(|symbol| {
        let name = symbol.name().expect("a name in ASCII").to_owned();
        let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
        let section = section.expect("a function lies in a section");
        let code = section.data_range(symbol.address(), symbol.size()).expect("the section has bytes");
        let code = code.filter(|code| !code.is_empty()).unwrap_or_else(|| panic!("{name} has no body"));
        (name, count(code, symbol.address()))
    });
    counts.collect()
}

/// A table with a line for each function.
fn table(functions: &BTreeMap<String, Counts>) -> String {
    let width = functions.keys().map(String::len).max().unwrap_or(0);
    let mut text = format!("{:<width$}", "function");
    for (kind, _) in KINDS {
        text += &format!("  {kind}");
    }
    for (name, counts) in functions {
        text += &format!("\n{name:<width$}");
        for ((kind, _), count) in KINDS.iter().zip(counts) {
            text += &format!("  {count:>0$}", kind.len());
        }
    }
    text + "\n"
}

/// Name and version of the compiler that builds the libraries.
fn compiler() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().expect("the compiler of this test exists");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The lines of one text that the other does not have, in their order.
fn without<'a>(text: &'a str, other: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter(move |line| !other.lines().any(|known| known == *line))
}

/// Compares the library of `preset` with its golden, or writes that.
fn check(preset: &str) {
    let path: PathBuf = support::root().join(format!("tests/golden/{preset}.txt"));
    let compiler = compiler();
    let head = format!(
        "# Instructions of each kind in the exported functions of libhakmem-{preset}.so, from\n\
         # {compiler}\n# Written by: {COMMAND}\n"
    );
    let functions = exported(&support::build(preset, &[]));
    assert!(functions.contains_key("malloc") && functions.contains_key("free"), "{preset} exports no malloc and free");
    let found = head + &table(&functions);
    if env::var_os(VARIABLE).is_some_and(|value| value == "write") {
        return fs::write(&path, found).expect("the directory of the goldens is writable");
    }
    let golden = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}. Write it:\n\n    {COMMAND}\n", path.display()));
    let of = golden.lines().nth(1).and_then(|line| line.strip_prefix("# ")).unwrap_or("no compiler");
    if of != compiler {
        return support::skip(&format!("{preset}'s golden is of {of}, this is {compiler}"));
    }
    if golden == found {
        return println!("{found}");
    }
    let mut difference = found.lines().nth(3).map(|kinds| format!("  {kinds}\n")).unwrap_or_default();
    for (sign, text, other) in [('-', &golden, &found), ('+', &found, &golden)] {
        for line in without(text, other) {
            difference += &format!("{sign} {line}\n");
        }
    }
    panic!("the machine code of {preset} is not its golden's:\n\n{difference}\nIf it should be so:\n\n    {COMMAND}\n");
}

#[test]
fn mixed_has_the_instructions_of_its_golden() {
    check("mixed");
}

#[test]
fn c6_ultra_has_the_instructions_of_its_golden() {
    check("c6-ultra");
}

#[test]
fn kinds_are_told_apart() {
    let cases: [(&[u8], Counts); 7] = [
        // mov rax, [rdi]
        (&[0x48, 0x8b, 0x07], [1, 1, 0, 0, 0, 0, 0]),
        // mov [rdi], rax
        (&[0x48, 0x89, 0x07], [1, 0, 1, 0, 0, 0, 0]),
        // inc qword ptr [rdi]
        (&[0x48, 0xff, 0x07], [1, 1, 1, 0, 0, 0, 0]),
        // lea rax, [rdi + 8]; prefetcht0 [rdi]; push rax; pop rax
        (&[0x48, 0x8d, 0x47, 0x08, 0x0f, 0x18, 0x0f, 0x50, 0x58], [4, 0, 0, 0, 0, 0, 0]),
        // je +0; jmp +0; ret
        (&[0x74, 0x00, 0xeb, 0x00, 0xc3], [3, 0, 0, 1, 1, 0, 1]),
        // jmp [rip + 0], as to a function of another library
        (&[0xff, 0x25, 0, 0, 0, 0], [1, 1, 0, 0, 1, 0, 0]),
        // call +0; call [rip + 0]
        (&[0xe8, 0, 0, 0, 0, 0xff, 0x15, 0, 0, 0, 0], [2, 1, 0, 0, 0, 2, 0]),
    ];
    for (code, expected) in cases {
        assert_eq!(count(code, 0x1000), expected, "{code:x?}");
    }
}
