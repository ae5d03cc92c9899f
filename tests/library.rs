//! What `libhakmem.so` is as a file: how long its hot paths are, what it exports, needs and leaves out.
//!
//! `cargo test --test library -- --nocapture` prints the counts and the listings.

#[path = "support/code.rs"]
mod code;
mod support;

use code::Code;
use iced_x86::FlowControl;
use object::elf::{
    DF_1_NODELETE, DF_1_NOW, DF_TEXTREL, DT_FLAGS, DT_FLAGS_1, DT_NEEDED, DT_SONAME, DT_TEXTREL, PT_TLS,
};
use object::read::elf::{Dyn as _, ElfFile64, ProgramHeader as _};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SectionKind};
use std::fs;
use std::process::Command;

fn bytes() -> Vec<u8> {
    fs::read(support::library()).expect("the library was just built")
}

#[test]
fn malloc_and_free_hit_in_thirteen_instructions() {
    let code = Code::read(support::library());
    for name in ["malloc", "free"] {
        let line = code.straight_line(name);
        println!("{name}:");
        for (index, instruction) in line.iter().enumerate() {
            println!("  {:2}  {}", index + 1, code.text(instruction));
        }
        let count = line.len();
        println!("  {name}: {count} instructions");
        assert!(count <= 13, "{name} takes {count} instructions");
    }
}

#[test]
fn the_library_is_small_and_complete_in_itself() {
    let data = bytes();
    let elf = ElfFile64::<Endianness>::parse(&*data).expect("a 64-bit ELF file");
    let endian = elf.endian();

    let dynamic = elf.elf_section_table().dynamic(endian, &*data).expect("readable").expect("a dynamic section");
    let (entries, link) = dynamic;
    let strings = elf.elf_section_table().strings(endian, &*data, link).expect("its strings");
    let text =
        |value: u64| String::from_utf8_lossy(strings.get(value as u32).expect("a string of the table")).into_owned();
    let values = |tag: u32| entries.iter().filter(move |e| e.d_tag(endian) == tag.into()).map(|e| e.d_val(endian));

    assert_eq!(values(DT_SONAME).map(text).collect::<Vec<_>>(), ["libhakmem-mixed.so"]);
    assert_eq!(values(DT_NEEDED).map(text).collect::<Vec<_>>(), ["libc.so.6"]);
    let flags = values(DT_FLAGS_1).next().unwrap_or(0) as u32;
    assert_ne!(flags & DF_1_NODELETE, 0, "threads hold addresses in the library: it must never be unloaded");
    assert_ne!(flags & DF_1_NOW, 0, "a symbol bound inside malloc could call malloc");
    assert_eq!(values(DT_TEXTREL).count(), 0, "text relocations");
    assert_eq!(values(DT_FLAGS).next().unwrap_or(0) as u32 & DF_TEXTREL, 0, "text relocations");

    let tls: u64 = elf
        .elf_program_headers()
        .iter()
        .filter(|header| header.p_type(endian) == PT_TLS)
        .map(|header| header.p_memsz(endian))
        .sum();
    println!("static TLS: {tls} bytes");
    assert!((8..=64).contains(&tls));

    let debug = |name: &str| name.starts_with(".debug") || name == ".symtab" || name == ".strtab";
    let sections = elf.sections().filter(|section| section.kind() != SectionKind::UninitializedData);
    let stripped: u64 = sections.filter(|section| !debug(section.name().unwrap_or(""))).map(|s| s.size()).sum();
    println!("stripped: about {stripped} bytes");
    assert!(stripped < 100 * 1024);
}

#[test]
fn nothing_of_the_panic_machinery_is_linked_in() {
    let data = bytes();
    let file = object::File::parse(&*data).expect("an ELF file");
    for symbol in file.symbols() {
        let name = symbol.name().unwrap_or("");
        assert!(!name.contains("panicking") && !name.contains("unwind") && !name.contains("fmt"), "{name}");
    }
    // Messages of panics and paths of sources are what remains of them in a stripped file.
    for trace in ["panicked", "src/heap", "src/front", ".rs:"] {
        assert!(!data.windows(trace.len()).any(|window| window == trace.as_bytes()), "{trace:?} is in the file");
    }
}

#[test]
fn thread_local_storage_is_initial_exec() {
    let data = bytes();
    let file = object::File::parse(&*data).expect("an ELF file");
    // The general-dynamic model would call this, and it can allocate.
    assert!(file.dynamic_symbols().all(|symbol| symbol.name() != Ok("__tls_get_addr")));
}

#[test]
fn without_a_preset_nothing_exports_a_c_symbol() {
    let target = support::root().join("target/no-preset");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--package", "hakmem-alloc", "--package", "hakmem-preload"])
        .current_dir(support::root())
        .env("CARGO_TARGET_DIR", &target)
        .status()
        .expect("the cargo that built this test exists");
    assert!(status.success());
    let data = fs::read(target.join("release/libhakmem.so")).expect("the library without a preset");
    let file = object::File::parse(&*data).expect("an ELF file");
    let exported: Vec<_> = file.dynamic_symbols().filter(|s| s.is_definition()).filter_map(|s| s.name().ok()).collect();
    assert!(exported.is_empty(), "{exported:?}");
}

#[test]
fn operator_delete_does_nothing_but_jump_to_the_processs_free() {
    let data = bytes();
    let file = object::File::parse(&*data).expect("an ELF file");
    let forms: Vec<_> = file.dynamic_symbols().filter_map(|s| s.name().ok()).filter(|n| n.starts_with("_Zd")).collect();
    assert_eq!(forms.len(), 12, "{forms:?}");
    let code = Code::read(support::library());
    for name in forms {
        let flow: Vec<_> = code.instructions(name).iter().take(2).map(|i| i.flow_control()).collect();
        assert_eq!(flow, [FlowControl::Next, FlowControl::IndirectBranch], "{name}");
    }
}
