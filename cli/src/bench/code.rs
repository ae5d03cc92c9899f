//! Whether two libraries are the same code, so that nothing is measured against itself.
//!
//! Their bytes seldom are the same even then: the name in the library and the order in which the linker laid out the
//! functions differ. So the functions are compared, whatever their order, without the distances to what lies elsewhere.

use std::fs;
use std::path::Path;

use iced_x86::{Decoder, DecoderOptions, Mnemonic, OpKind};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

use crate::remedy::OrRemedy;

/// What is compared.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// The functions, sorted; one for all of the code where no symbols tell them apart.
    functions: Vec<Vec<u8>>,
    /// Constants and tables.
    constants: Vec<Vec<u8>>,
}

impl Code {
    /// That of the library at `path`.
    pub fn of(path: &Path) -> anyhow::Result<Self> {
        let what = || format!("cannot read the code of `{}`", path.display());
        let remedy = "name a library for x86-64 that you may read";
        let data = fs::read(path).or_remedy(what, remedy)?;
        let file = ElfFile64::<object::Endianness>::parse(&*data).or_remedy(what, remedy)?;
        Self::of_elf(&file).or_remedy(what, remedy)
    }

    fn of_elf(file: &ElfFile64<'_>) -> object::Result<Self> {
        let mut starts: Vec<u64> = file
            .symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
            .map(|symbol| symbol.address())
            .collect();
        starts.sort_unstable();
        starts.dedup();
        let (mut functions, mut constants) = (Vec::new(), Vec::new());
        for section in file.sections() {
            match section.kind() {
                SectionKind::Text => functions.extend(split(section.address(), section.data()?, &starts).map(bare)),
                SectionKind::ReadOnlyData | SectionKind::ReadOnlyString if !unwinds(section.name()?) => {
                    constants.push(section.data()?.to_vec());
                }
                _ => {}
            }
        }
        functions.sort_unstable();
        Ok(Self { functions, constants })
    }
}

/// Whether the section says how functions are unwound, with the distances to them.
fn unwinds(section: &str) -> bool {
    section.starts_with(".eh_frame") || section == ".gcc_except_table"
}

/// The code at `address`, cut at each of the `starts` that lie in it.
fn split<'data>(address: u64, data: &'data [u8], starts: &[u64]) -> impl Iterator<Item = &'data [u8]> {
    let inner = starts.iter().filter_map(move |&start| usize::try_from(start.checked_sub(address)?).ok());
    let cuts = inner.filter(move |&start| start > 0 && start < data.len());
    let cuts: Vec<usize> = std::iter::once(0).chain(cuts).chain(std::iter::once(data.len())).collect();
    (1..cuts.len()).map(move |index| &data[cuts[index - 1]..cuts[index]])
}

/// The instructions without what depends on their place: padding, and the distances of jumps, calls and data.
fn bare(code: &[u8]) -> Vec<u8> {
    let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
    let mut bytes = Vec::with_capacity(code.len());
    while decoder.can_decode() {
        let start = decoder.position();
        let instruction = decoder.decode();
        if matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3) {
            continue;
        }
        let offsets = decoder.get_constant_offsets(&instruction);
        let mut own = code[start..decoder.position()].to_vec();
        let mut blank = |from: usize, size: usize| own[from..from + size].fill(0);
        if instruction.is_ip_rel_memory_operand() {
            blank(offsets.displacement_offset(), offsets.displacement_size());
        }
        if instruction.op0_kind() == OpKind::NearBranch64 {
            blank(offsets.immediate_offset(), offsets.immediate_size());
        }
        bytes.append(&mut own);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_and_padding_do_not_count() {
        // call +5; mov eax, [rip+7]; ret; nop; int3
        let here = [0xe8, 5, 0, 0, 0, 0x8b, 0x05, 7, 0, 0, 0, 0xc3, 0x90, 0xcc];
        // call +9; mov eax, [rip+1]; ret
        let there = [0xe8, 9, 0, 0, 0, 0x8b, 0x05, 1, 0, 0, 0, 0xc3];
        assert_eq!(bare(&here), bare(&there));
        // Offsets within an object and constants do: mov eax, [rdi+8] and [rdi+16]; cmp eax, 8 and 16.
        assert_ne!(bare(&[0x8b, 0x47, 8]), bare(&[0x8b, 0x47, 16]));
        assert_ne!(bare(&[0x83, 0xf8, 8]), bare(&[0x83, 0xf8, 16]));
        // So does which jump it is: je and jne.
        assert_ne!(bare(&[0x74, 3]), bare(&[0x75, 3]));
    }

    #[test]
    fn code_is_cut_where_functions_begin() {
        let cut = |starts: &[u64]| split(100, &[1, 2, 3, 4], starts).map(<[u8]>::to_vec).collect::<Vec<_>>();
        assert_eq!(cut(&[]), [vec![1, 2, 3, 4]]);
        assert_eq!(cut(&[50, 100, 101, 103, 104, 200]), [vec![1], vec![2, 3], vec![4]]);
    }

    #[test]
    fn a_library_is_itself_and_no_other() {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let linked = |name: &str| {
            let path = maps.lines().find_map(|line| Some(&line[line.find('/')?..]).filter(|path| path.contains(name)));
            Code::of(Path::new(path.expect("the test is linked with it"))).unwrap()
        };
        assert_eq!(linked("libc.so"), linked("libc.so"));
        assert_ne!(linked("libc.so"), linked("ld-linux"));
        let message = Code::of(Path::new("/nowhere.so")).unwrap_err().to_string();
        assert!(message.contains("`/nowhere.so`: No such file"), "{message}");
    }
}
