//! What this command asks of an ELF file: for which machine it is, who loads it, what it is called, and whether it
//! defines `malloc`.
//!
//! Only the headers and the dynamic symbols are read: an executable may be hundreds of megabytes.

use std::fs::File;
use std::io::{Read, Seek};

use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, ReadCache, ReadRef, StringTable};

/// The answers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Elf {
    /// It is code for x86-64. Where it is not, nothing else was looked at.
    pub x86_64: bool,
    /// The loader that the kernel starts it with (PT_INTERP); none for a static executable and for most libraries.
    pub interpreter: Option<Vec<u8>>,
    /// Its name as a library (DT_SONAME).
    pub soname: Option<Vec<u8>>,
    /// It has a `malloc` that other objects of the process are bound to.
    pub defines_malloc: bool,
}

/// Looks at `file`. `None`: it is no ELF file.
pub fn look(mut file: File) -> anyhow::Result<Option<Elf>> {
    let mut ident = Vec::new();
    file.by_ref().take(elf::ELFMAG.len() as u64 + 1).read_to_end(&mut ident)?;
    let Some(&[class]) = ident.strip_prefix(&elf::ELFMAG) else {
        return Ok(None);
    };
    if class != elf::ELFCLASS64 {
        return Ok(Some(Elf::default()));
    }
    file.rewind()?;
    Ok(Some(look_64(&ReadCache::new(file))?))
}

fn look_64<'data>(data: impl ReadRef<'data>) -> object::Result<Elf> {
    let header = FileHeader64::<Endianness>::parse(data)?;
    let endian = header.endian()?;
    if header.e_machine(endian) != elf::EM_X86_64 {
        return Ok(Elf::default());
    }
    let mut found = Elf { x86_64: true, ..Elf::default() };
    for segment in header.program_headers(endian, data)? {
        if let Some(path) = segment.interpreter(endian, data)? {
            found.interpreter = Some(path.to_vec());
        }
    }
    let sections = header.sections(endian, data)?;
    for section in sections.iter() {
        // One read for the whole string table: a look-up through the cache would allocate for each name.
        let strings = || {
            let table = sections.section(section.link(endian))?.data(endian, data)?;
            object::Result::Ok(StringTable::new(table, 0, table.len() as u64))
        };
        if let Some((entries, _)) = section.dynamic(endian, data)? {
            if let Some(entry) = entries.iter().find(|entry| entry.tag32(endian) == Some(elf::DT_SONAME)) {
                found.soname = Some(entry.string(endian, strings()?)?.to_vec());
            }
        } else if section.sh_type(endian) == elf::SHT_DYNSYM {
            let strings = strings()?;
            found.defines_malloc = section
                .data_as_array::<elf::Sym64<Endianness>, _>(endian, data)?
                .iter()
                .filter(|symbol| symbol.st_shndx(endian) != elf::SHN_UNDEF && symbol.st_bind() != elf::STB_LOCAL)
                .any(|symbol| symbol.name(endian, strings).is_ok_and(|name| name == b"malloc"));
        }
    }
    Ok(found)
}
