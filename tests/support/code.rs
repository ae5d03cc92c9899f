//! Machine code of an ELF file: the instructions of a function, its hit as a straight line, and both as text with names
//! in place of addresses.
//!
//! A module of its own, beside `mod.rs`, so that only the tests which read machine code contain a disassembler.
#![allow(dead_code, reason = "every test binary with this module uses a part of it")]

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Formatter, FormatterOutput, FormatterTextKind, Instruction, IntelFormatter,
    OpKind, SymbolResolver, SymbolResult,
};
use object::elf::{PT_TLS, R_X86_64_IRELATIVE, R_X86_64_TPOFF64};
use object::read::elf::{ElfFile64, ProgramHeader as _};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, Relocation, RelocationFlags, SectionKind};
use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// Where the thread slot is: a word of the global offset table, or, in an executable, a number in the instruction.
pub const THREAD_SLOT: &str = "THREAD SLOT";
/// The word of the global offset table that holds the page map's address. Nothing else leads to the map.
pub const PAGE_MAP: &str = "PAGE MAP";
/// Read-only data of the file: what follows from the bins.
pub const TABLES: &str = "TABLES";
/// A jump's target within its function.
pub const ASIDE: &str = "ASIDE";
/// Functions that the hot paths jump to where they miss; of two that match, the first.
const COLD: [&str; 2] = ["deallocate_other", "allocate_other"];

/// An ELF file with symbols.
pub struct Code {
    data: Vec<u8>,
    names: Names,
}

impl Code {
    /// The file at `path`.
    pub fn read(path: &Path) -> Self {
        let data = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let names = Names::of(&parse(&data));
        Self { data, names }
    }

    /// The instructions from the start of the symbol `name` on, as they lie in memory. It is a dynamic symbol, or, in a
    /// program, one of the symbol table.
    pub fn instructions(&self, name: &str) -> Vec<Instruction> {
        let file = parse(&self.data);
        let symbol = file.dynamic_symbols().chain(file.symbols()).find(|s| !s.is_undefined() && s.name() == Ok(name));
        let address = symbol.unwrap_or_else(|| panic!("no symbol {name}")).address();
        let section = file
            .sections()
            .find(|section| section.kind() == SectionKind::Text && range(section).contains(&address))
            .expect("the symbol lies in a section with code");
        let code = section.data().expect("the section has bytes");
        let offset = (address - section.address()) as usize;
        Decoder::with_ip(64, &code[offset..], address, DecoderOptions::NONE).into_iter().take(64).collect()
    }

    /// The instructions from the start of `name` to its `ret`, every conditional branch falling through: the hit, as
    /// all hot paths are written.
    pub fn straight_line(&self, name: &str) -> Vec<Instruction> {
        let mut line = self.instructions(name);
        let end = line.iter().position(|instruction| match instruction.flow_control() {
            FlowControl::Next | FlowControl::ConditionalBranch => false,
            FlowControl::Return => true,
            other => panic!("{name} does not fall through to `ret`: {} ({other:?})", self.text(instruction)),
        });
        line.truncate(end.unwrap_or_else(|| panic!("{name} has no `ret`")) + 1);
        line
    }

    /// An instruction in Intel's syntax.
    pub fn text(&self, instruction: &Instruction) -> String {
        let mut text = String::new();
        self.formatter().format(instruction, &mut text);
        text
    }

    /// The same with `_` for every register but the segment: what does not change when the compiler hands them out
    /// differently.
    pub fn shape(&self, instruction: &Instruction) -> String {
        let mut shape = Shape(String::new());
        self.formatter().format(instruction, &mut shape);
        shape.0
    }

    /// The name of what `instruction` refers to, if it refers to something that has one.
    pub fn name(&self, instruction: &Instruction) -> Option<&'static str> {
        (0..instruction.op_count()).find_map(|operand| self.names.of_operand(instruction, operand))
    }

    /// Whether the file has something of that name. One that should have it and has not is read wrongly.
    pub fn has(&self, name: &str) -> bool {
        self.names.exact.values().any(|&known| known == name)
    }

    fn formatter(&self) -> IntelFormatter {
        let mut formatter = IntelFormatter::with_options(Some(Box::new(self.names.clone())), None);
        // How far a jump goes is the layout's business.
        formatter.options_mut().set_show_branch_size(false);
        formatter
    }
}

fn parse(data: &[u8]) -> ElfFile64<'_, Endianness> {
    ElfFile64::parse(data).expect("a 64-bit ELF file")
}

fn range<'data>(section: &impl ObjectSection<'data>) -> Range<u64> {
    section.address()..section.address() + section.size()
}

/// What addresses stand for.
#[derive(Clone)]
struct Names {
    exact: HashMap<u64, &'static str>,
    tables: Vec<Range<u64>>,
}

impl Names {
    /// The names that relocations and the symbols they come from give.
    fn of(file: &ElfFile64<'_, Endianness>) -> Self {
        let mut exact = HashMap::new();
        let symbols = || file.symbols().filter(|symbol| !symbol.is_undefined());
        let address =
            |start: &str| symbols().find(|s| s.name().is_ok_and(|n| n.starts_with(start))).map(|s| s.address());
        for (symbol, reloc_type, name) in
            [("hakmem_slot_", R_X86_64_TPOFF64, THREAD_SLOT), ("hakmem_page_map", R_X86_64_IRELATIVE, PAGE_MAP)]
        {
            let Some(address) = address(symbol) else { continue };
            let fills = |relocation: &Relocation| {
                relocation.flags() == RelocationFlags::Elf { r_type: reloc_type }
                    && relocation.addend() as u64 == address
            };
            let words = file.dynamic_relocations().into_iter().flatten().filter(|(_, relocation)| fills(relocation));
            exact.extend(words.map(|(word, _)| (word, name)));
        }
        let endian = file.endian();
        let tls = file.elf_program_headers().iter().find(|header| header.p_type(endian) == PT_TLS);
        if let (Some(tls), Some(slot)) = (tls, address("hakmem_slot_")) {
            // An executable's thread-local data end where the thread pointer points.
            let bytes = tls.p_memsz(endian).next_multiple_of(tls.p_align(endian).max(1));
            exact.insert(slot.wrapping_sub(bytes), THREAD_SLOT);
        }
        for symbol in symbols() {
            let name = symbol.name().unwrap_or("");
            if let Some(cold) = COLD.into_iter().find(|cold| name.contains(cold)) {
                exact.insert(symbol.address(), cold);
            }
        }
        let read_only = [SectionKind::ReadOnlyData, SectionKind::ReadOnlyString];
        let tables = file.sections().filter(|section| read_only.contains(&section.kind()));
        Self { exact, tables: tables.map(|section| range(&section)).collect() }
    }

    /// The name of what an operand of `instruction` refers to by its address or, for the thread slot, by a number.
    fn of_operand(&self, instruction: &Instruction, operand: u32) -> Option<&'static str> {
        match instruction.op_kind(operand) {
            OpKind::Memory if instruction.is_ip_rel_memory_operand() => {
                let address = instruction.ip_rel_memory_address();
                let table = || self.tables.iter().any(|range| range.contains(&address)).then_some(TABLES);
                self.exact.get(&address).copied().or_else(table)
            }
            OpKind::NearBranch64 => Some(self.exact.get(&instruction.near_branch64()).copied().unwrap_or(ASIDE)),
            _ => {
                let number = instruction.try_immediate(operand).ok()?;
                self.exact.get(&number).copied().filter(|&name| name == THREAD_SLOT)
            }
        }
    }
}

impl SymbolResolver for Names {
    fn symbol(
        &mut self,
        instruction: &Instruction,
        _operand: u32,
        instruction_operand: Option<u32>,
        address: u64,
        _size: u32,
    ) -> Option<SymbolResult<'_>> {
        let name = self.of_operand(instruction, instruction_operand?)?;
        Some(SymbolResult::with_str(address, name))
    }
}

/// The text of an instruction without the names of registers.
struct Shape(String);

impl FormatterOutput for Shape {
    fn write(&mut self, text: &str, kind: FormatterTextKind) {
        self.0.push_str(if kind == FormatterTextKind::Register && text != "fs" { "_" } else { text });
    }
}
