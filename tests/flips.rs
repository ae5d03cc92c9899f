//! Every single-knob flip of Mixed and C6-heavy: it builds, is called what it is, has other instructions than the preset,
//! and serves a program.
//!
//! It builds a library for each flip, which takes a few seconds each, so it runs under CI or when `HAKMEM_FLIPS` is set:
//! `HAKMEM_FLIPS=1 cargo test --test flips -- --nocapture`.

mod support;

use hakmem::PRESETS;
use hakmem::config::{Knob, Standing, Words};
use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use object::{Object, ObjectSection};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What `knob` makes of `words`, and the feature that does it.
fn flipped(words: Words, knob: Knob) -> (Words, String) {
    match words.has(knob) {
        true => (words.without(knob), format!("no-{}", knob.name())),
        false => (words.with(knob), knob.name().into()),
    }
}

/// How often each kind of instruction occurs in a library. Not their order: the linker places functions by names, and a flip
/// changes those in any case.
fn code(library: &Path) -> BTreeMap<String, usize> {
    let data = fs::read(library).expect("the library was just built");
    let file = object::File::parse(&*data).expect("an ELF file");
    let code = file.section_by_name(".text").and_then(|section| section.data().ok()).expect("a section with code");
    let mut kinds = BTreeMap::new();
    for instruction in Decoder::new(64, code, DecoderOptions::NONE) {
        // Between functions lie as many of these as their places make necessary.
        if !matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3) {
            *kinds.entry(format!("{:?}", instruction.code())).or_default() += 1;
        }
    }
    kinds
}

/// Whether the library's name for itself is `soname`.
fn is_called(library: &Path, soname: &str) -> bool {
    let data = fs::read(library).expect("the library was just built");
    let name = [b"\0", soname.as_bytes(), b"\0"].concat();
    data.windows(name.len()).any(|window| window == name)
}

#[test]
fn every_single_knob_flip_builds_differs_and_works() {
    if std::env::var_os("CI").is_none() && std::env::var_os("HAKMEM_FLIPS").is_none() {
        return support::skip("HAKMEM_FLIPS not set");
    }
    let Some(program) = support::compile("alignment", &[]) else { return };
    for name in ["mixed", "c6-heavy"] {
        let preset = PRESETS.iter().find(|preset| preset.name == name).expect("a preset");
        let unchanged = code(&support::build(name, &[]));
        let mut tried = 0;
        for &knob in Knob::ALL.iter().filter(|knob| knob.standing() == Standing::Ready) {
            let (words, feature) = flipped(preset.words, knob);
            if words.problem().is_some() {
                // The one knob that means nothing alone.
                assert_eq!(knob, Knob::HeapStatsDump);
                continue;
            }
            let library = support::build(name, &[&feature]);
            println!("{name} {feature}");
            assert!(is_called(&library, &format!("libhakmem-{name}-{feature}.so")), "{name} {feature}");
            assert!(code(&library) != unchanged, "{name} {feature}: the instructions are the preset's");
            program.run_preloading(&[&library]).assert_success();
            tried += 1;
        }
        assert!(tried >= 10, "only {tried} flips of {name}");
    }
}
