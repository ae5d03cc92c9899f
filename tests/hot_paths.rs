//! The hot paths, instruction by instruction: what presets, knobs and tables of bins cost in `malloc` and `free`, and
//! what a free costs that knows the size.
//!
//! `docs/hot-paths` writes the tables that the tests print to `docs/hot-paths.md`. Two paths are compared by what their
//! instructions do to which values, whatever registers the compiler took.

#[path = "support/code.rs"]
mod code;
mod support;

use code::{Code, PAGE_MAP, TABLES, THREAD_SLOT};
use hakmem::config::{Bins, Knob, Standing};
use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};
use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::iter::once;
use std::process::Command;
use std::sync::OnceLock;

/// What a register holds, as far as the hot paths are concerned.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holds {
    /// Something else.
    Other,
    /// The size that is asked for, or freed.
    Size,
    /// The bin, or a step on the way from the size to it.
    Bin,
    /// The block.
    Block,
    /// The number of the page that the block lies in.
    Page,
    /// The page map.
    Map,
    /// Tables that follow from the bins.
    Tables,
    /// Where the thread slot is.
    Slot,
    /// The thread's heap.
    Heap,
    /// The top of the bin's magazine.
    Top,
    /// The top after the call: 8 bytes further.
    NewTop,
}

use Holds::{Bin, Block, Heap, Map, NewTop, Other, Page, Size, Slot, Tables, Top};

/// What the registers hold at one place of a path.
struct Registers(HashMap<Register, Holds>);

impl Registers {
    /// At the start of `function`.
    fn at_start_of(function: &str) -> Self {
        let arguments: &[_] = match function {
            "malloc" => &[(Register::RDI, Size)],
            "free" | "sized_free_of_100" | "sized_free_of_line" => &[(Register::RDI, Block)],
            "sized_free" => &[(Register::RDI, Block), (Register::RSI, Size)],
            _ => &[],
        };
        Self(arguments.iter().copied().collect())
    }

    fn get(&self, register: Register) -> Holds {
        self.0.get(&register.full_register()).copied().unwrap_or(Other)
    }

    /// Takes note of what `instruction` does, and says what that is for in the words of `front::direct`; empty if it is
    /// none of the things that a hot path has to do.
    fn step(&mut self, code: &Code, instruction: &Instruction) -> &'static str {
        let operand = |number| match instruction.op_kind(number) {
            OpKind::Register => self.get(instruction.op_register(number)),
            _ => Other,
        };
        let (first, second) = (operand(0), if instruction.op_count() > 1 { operand(1) } else { Other });
        let (base, index) = (self.get(instruction.memory_base()), self.get(instruction.memory_index()));
        let memory = (0..instruction.op_count()).find(|&number| instruction.op_kind(number) == OpKind::Memory);
        let pair = |one, other| [(one, other), (other, one)].contains(&(base, index));
        let sized = [first, second, base].iter().any(|holds| [Size, Bin].contains(holds));
        let (result, purpose) = match (instruction.mnemonic(), memory, code.name(instruction)) {
            _ if instruction.flow_control() == FlowControl::ConditionalBranch => (None, "no: cold"),
            (Mnemonic::Ret, ..) => (None, "done"),
            (Mnemonic::Mov, _, Some(THREAD_SLOT)) => (Some(Slot), "where the thread slot is"),
            (Mnemonic::Mov, _, Some(PAGE_MAP)) => (Some(Map), "where the page map is"),
            (Mnemonic::Lea, _, Some(TABLES)) => (Some(Tables), "where the table of bins is"),
            (Mnemonic::Mov, Some(1), _) if base == Slot && instruction.memory_segment() == Register::FS => {
                (Some(Heap), "heap = thread slot")
            }
            (Mnemonic::Mov, Some(1), _) if base == Heap => (Some(Top), "top = heap.top[bin]"),
            (Mnemonic::Mov, Some(1), _) if base == Top => (Some(Block), "block = *top"),
            (Mnemonic::Movzx, Some(1), _) if pair(Map, Page) => (Some(Bin), "bin = page map[page]"),
            (Mnemonic::Movzx, Some(1), _) if pair(Tables, Bin) => (Some(Bin), "bin = table[bin]"),
            (Mnemonic::Mov, Some(0), _) if (base, second) == (Heap, NewTop) => (None, "heap.top[bin] = new top"),
            (Mnemonic::Mov, Some(0), _) if (base, second) == (NewTop, Block) => (None, "*new top = block"),
            (Mnemonic::Inc, Some(0), _) if base == Heap => (None, "counts the call"),
            (Mnemonic::Prefetcht0, ..) if base == Top => (None, "asks for the slots that come next"),
            (Mnemonic::Cmp, Some(0), _) if base == Top => (None, "a block there?"),
            (Mnemonic::Cmp, None, _) if sized => (None, "a small size?"),
            (Mnemonic::Test, None, _) if first == NewTop => (None, "room for it?"),
            (Mnemonic::Lea, ..) if base == Top => (Some(NewTop), "new top = top - 8"),
            (Mnemonic::Add, None, _) if first == Top => (Some(NewTop), "new top = top + 8"),
            (Mnemonic::Shr, None, _) if first == Block => (Some(Page), "page of the block"),
            (Mnemonic::Mov, None, _) if second == Block => (Some(Block), "a copy of the block"),
            (Mnemonic::Mov, None, _) if second != Other => (Some(second), "a copy"),
            (Mnemonic::Lea, ..) | (_, None, _) if sized => (Some(Bin), "bin of the size"),
            _ => (Some(Other), ""),
        };
        if let Some(result) = result
            && instruction.op_kind(0) == OpKind::Register
        {
            self.0.insert(instruction.op0_register().full_register(), result);
        }
        purpose
    }
}

/// One instruction of a path.
struct Step {
    /// In Intel's syntax.
    text: String,
    /// The same without registers.
    shape: String,
    mnemonic: Mnemonic,
    purpose: &'static str,
    /// Whether it looks into the page map.
    classifies: bool,
    /// Whether it reads or writes memory.
    accesses: bool,
}

impl Step {
    fn counts(&self) -> bool {
        self.mnemonic == Mnemonic::Inc
    }
}

/// A function's name and its hit.
type Named = (&'static str, Vec<Step>);

/// The hit of `function`.
fn path(code: &Code, function: &str) -> Vec<Step> {
    let mut registers = Registers::at_start_of(function);
    let step = |instruction: &Instruction| Step {
        text: code.text(instruction),
        shape: code.shape(instruction),
        mnemonic: instruction.mnemonic(),
        purpose: registers.step(code, instruction),
        classifies: code.name(instruction) == Some(PAGE_MAP),
        accesses: instruction.op_kinds().any(|kind| kind == OpKind::Memory)
            && ![Mnemonic::Lea, Mnemonic::Prefetcht0].contains(&instruction.mnemonic()),
    };
    code.straight_line(function).iter().map(step).collect()
}

/// Fails unless the two paths do the same in the same order.
#[track_caller]
fn assert_same<'a>(
    path: impl IntoIterator<Item = &'a Step>,
    other: impl IntoIterator<Item = &'a Step>,
    what: fmt::Arguments<'_>,
) {
    let lines = |path: &mut dyn Iterator<Item = &'a Step>| {
        path.map(|step| format!("  {:28} {}\n", step.shape, step.purpose)).collect::<String>()
    };
    let (path, other) = (lines(&mut path.into_iter()), lines(&mut other.into_iter()));
    assert!(path == other, "{what}:\n{path}and:\n{other}");
}

/// A library, and how many instructions its hits take at most.
struct Variant {
    preset: &'static str,
    flips: &'static [&'static str],
    malloc: usize,
    free: usize,
}

const MIXED: usize = 0;
const ULTRA: usize = 1;
const LUT: usize = 2;
const PREFETCH: usize = 3;
const POWERS: usize = 4;
const TABLE: usize = 5;

const VARIANTS: [Variant; 6] = [
    Variant { preset: "mixed", flips: &[], malloc: 13, free: 13 },
    // A counter of the path in each: an `inc` in memory, behind the heap's table, whose address is at hand.
    Variant { preset: "c6-ultra", flips: &[], malloc: 14, free: 14 },
    // The table's address, which position-independent code has to compute first, and a load from it.
    Variant { preset: "mixed", flips: &["front-v3-lut"], malloc: 15, free: 13 },
    // The prefetch.
    Variant { preset: "mixed", flips: &["prefetch"], malloc: 14, free: 13 },
    // The bin is the number of the highest bit: `bsr`, and an `or` that makes sizes up to 16 one bin.
    Variant { preset: "tests/presets/powers.toml", flips: &[], malloc: 15, free: 13 },
    // As with `front-v3-lut`: no arithmetic finds these bins.
    Variant { preset: "tests/presets/table.toml", flips: &[], malloc: 15, free: 13 },
];

/// The hits of one library.
struct Built {
    malloc: Vec<Step>,
    free: Vec<Step>,
}

/// The hits of all [`VARIANTS`].
fn built() -> &'static [Built] {
    static BUILT: OnceLock<Vec<Built>> = OnceLock::new();
    let build = |variant: &Variant| {
        let code = Code::read(&support::build(variant.preset, variant.flips));
        Built { malloc: path(&code, "malloc"), free: path(&code, "free") }
    };
    BUILT.get_or_init(|| VARIANTS.iter().map(build).collect())
}

/// Prints a row of a table.
fn row<S: Borrow<str>>(cells: &[S]) {
    println!("| {} |", cells.join(" | "));
}

/// Prints the first two rows of a table.
fn head<S: Borrow<str>>(cells: &[S]) {
    row(cells);
    row(&vec!["---"; cells.len()]);
}

fn quoted(step: Option<&Step>) -> String {
    step.map_or(String::new(), |step| format!("`{}`", step.text))
}

#[test]
fn counters_are_all_that_c6_ultra_adds_to_mixed() {
    let (mixed, ultra) = (&built()[MIXED], &built()[ULTRA]);
    for (function, mixed, ultra) in [("malloc", &mixed.malloc, &ultra.malloc), ("free", &mixed.free, &ultra.free)] {
        println!("\n### `{function}`\n");
        let (fewer, more) = (format!("`mixed`: {}", mixed.len()), format!("`c6-ultra`: {}", ultra.len()));
        head(&["", &fewer, &more, "what for"]);
        let mut plain = mixed.iter();
        for (number, step) in ultra.iter().enumerate() {
            let beside = if step.counts() { None } else { plain.next() };
            let formula = step.purpose.contains('=');
            let purpose = if formula { format!("`{}`", step.purpose) } else { step.purpose.into() };
            row(&[(number + 1).to_string(), quoted(beside), quoted(Some(step)), purpose]);
        }
        let (counters, rest): (Vec<_>, Vec<_>) = ultra.iter().partition(|step| step.counts());
        assert_same(rest, mixed, format_args!("{function}: something else than counters differs"));
        assert_eq!(counters.len(), 1, "{function}: one counter, of the path that the call takes");
        assert_eq!(mixed.len(), 13, "{function} of mixed");
        let odd = ultra.iter().find(|step| step.purpose.is_empty());
        assert!(odd.is_none(), "{function}: nothing here knows what {} is for", quoted(odd));
    }
}

/// The knobs that are on in a variant, and its table of bins.
fn words(variant: &Variant) -> (String, String) {
    let (mut knobs, bins) = match hakmem::PRESETS.iter().find(|preset| preset.name == variant.preset) {
        Some(preset) => {
            let on = |knob: &&Knob| knob.standing() == Standing::Ready && preset.words.has(**knob);
            let bins = match Bins(preset.words.bins) {
                Bins::STEPS => "steps".into(),
                Bins::POWERS => "powers".into(),
                bins => format!("{} sizes", bins.count()),
            };
            (Knob::ALL.iter().filter(on).map(|knob| knob.name().to_owned()).collect::<Vec<_>>(), bins)
        }
        None => {
            let text = fs::read_to_string(support::root().join(variant.preset)).expect("the preset's file");
            let file: toml::Table = text.parse().expect("it was just built");
            let on = file.get("knobs").and_then(|knobs| knobs.get("on")?.as_array()).into_iter().flatten();
            let bins = match file.get("geometry").and_then(|geometry| geometry.get("bins")) {
                Some(toml::Value::Array(sizes)) => format!("{} sizes", sizes.len()),
                other => other.and_then(toml::Value::as_str).unwrap_or("steps").into(),
            };
            (on.filter_map(|knob| knob.as_str().map(str::to_owned)).collect(), bins)
        }
    };
    knobs.extend(variant.flips.iter().map(|&flip| flip.to_owned()));
    (knobs.iter().map(|knob| format!("`{knob}`")).collect::<Vec<_>>().join(", "), bins)
}

/// The mnemonics that `path` has more often than `other`, in its order.
fn surplus(path: &[Step], other: &[Step]) -> String {
    let mut left: Vec<_> = other.iter().map(|step| step.mnemonic).collect();
    let more = |step: &&Step| match left.iter().position(|&mnemonic| mnemonic == step.mnemonic) {
        Some(found) => {
            left.swap_remove(found);
            false
        }
        None => true,
    };
    // From the end, because what differs is how the bin is found, and that comes first.
    let steps: Vec<_> = path.iter().rev().filter(more).collect();
    let names: Vec<_> = steps.iter().rev().map(|step| format!("`{:?}`", step.mnemonic).to_lowercase()).collect();
    names.join(" ")
}

#[test]
fn each_word_costs_what_it_says() {
    println!();
    head(&[
        "preset",
        "knobs on",
        "bins",
        "`malloc`",
        "more than `mixed`",
        "less than `mixed`",
        "`free`",
        "more than `mixed`",
    ]);
    let (built, mixed) = (built(), &built()[MIXED]);
    for (variant, Built { malloc, free }) in VARIANTS.iter().zip(built) {
        let (knobs, bins) = words(variant);
        row(&[
            format!("`{}`", variant.preset),
            knobs,
            bins,
            malloc.len().to_string(),
            surplus(malloc, &mixed.malloc),
            surplus(&mixed.malloc, malloc),
            free.len().to_string(),
            surplus(free, &mixed.free),
        ]);
    }
    for (Variant { preset, flips, malloc, free }, built) in VARIANTS.iter().zip(built) {
        assert!(built.malloc.len() <= *malloc, "malloc of {preset} {flips:?}: {}", built.malloc.len());
        assert!(built.free.len() <= *free, "free of {preset} {flips:?}: {}", built.free.len());
        let plain = built.free.iter().filter(|step| !step.counts());
        assert_same(plain, &mixed.free, format_args!("free of {preset} {flips:?}: only a counter may change it"));
        assert_eq!(built.free.iter().filter(|step| step.classifies).count(), 1, "free looks a pointer up once");
    }
    assert_same(&built[LUT].malloc, &built[TABLE].malloc, format_args!("a table is a table, whoever asks for it"));
    let plain = built[PREFETCH].malloc.iter().filter(|step| step.mnemonic != Mnemonic::Prefetcht0);
    assert_same(plain, &mixed.malloc, format_args!("`prefetch` adds a prefetch"));
    let tail = once_found(&mixed.malloc);
    for number in [LUT, POWERS, TABLE] {
        let preset = VARIANTS[number].preset;
        assert_same(once_found(&built[number].malloc), tail, format_args!("malloc of {preset}, once it has the bin"));
    }
}

/// What `malloc` does once it has the bin.
fn once_found(malloc: &[Step]) -> &[Step] {
    let start = malloc.iter().position(|step| step.purpose == "top = heap.top[bin]");
    &malloc[start.expect("a magazine is looked at")..]
}

/// The example, built as users build theirs.
fn example() -> Code {
    let target = support::root().join("target/hot-paths");
    let output = Command::new(env!("CARGO"))
        .args(["build", "--release", "--package", "hakmem-alloc", "--example", "hot_paths"])
        .current_dir(support::root())
        .env("CARGO_TARGET_DIR", &target)
        // It would move the example into a directory of its own.
        .env_remove("CARGO_BUILD_TARGET")
        .output()
        .expect("the cargo that built this test exists");
    assert!(output.status.success(), "cargo build failed:\n{}", String::from_utf8_lossy(&output.stderr));
    Code::read(&target.join("release/examples/hot_paths"))
}

#[test]
fn sized_paths_look_nothing_up() {
    // The limit of the first two is what is promised, and leaves two to spare.
    const MOST: [(&str, usize); 4] =
        [("sized_free_of_100", 11), ("sized_free_of_line", 11), ("sized_free", 13), ("allocate_100", 9)];
    let code = example();
    let paths = MOST.map(|(function, _)| (function, path(&code, function)));
    let cells = |title: &str, cell: &dyn Fn(&Named) -> String| {
        once(title.to_owned()).chain(paths.iter().map(cell)).collect::<Vec<_>>()
    };
    let count =
        |path: &[Step], counted: fn(&Step) -> bool| path.iter().filter(|step| counted(step)).count().to_string();
    println!();
    head(&cells("", &|(function, _)| format!("`{function}`")));
    row(&cells("instructions", &|(_, path)| count(path, |_| true)));
    row(&cells("accesses to memory", &|(_, path)| count(path, |step| step.accesses)));
    row(&cells("of them to the page map", &|(_, path)| count(path, |step| step.classifies)));
    for number in 0..paths.iter().map(|(_, path)| path.len()).max().unwrap_or(0) {
        row(&cells(&(number + 1).to_string(), &|(_, path)| quoted(path.get(number))));
    }
    // Without it the assertion below would hold for whatever the paths do.
    assert!(code.has(PAGE_MAP), "the page map is not recognised");
    for ((function, path), (_, most)) in paths.iter().zip(MOST) {
        assert!(path.len() <= most, "{function} takes {} instructions", path.len());
        assert!(path.iter().all(|step| !step.classifies), "{function} looks into the page map");
        assert!(!path.iter().any(|step| step.purpose == "page of the block"), "{function} looks at the address");
    }
}
