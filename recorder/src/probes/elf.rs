//! Where in a shared library a function begins: its offset in the file, which uprobes want (ELF-64, elf(5)).

/// Offset of an exported function; None when there is none, or the file is not of this machine's byte order and of 64 bits.
pub fn function_offset(file: &[u8], name: &str) -> Option<u64> {
    let class = if cfg!(target_endian = "little") { 1 } else { 2 };
    if file.get(..6)? != [0x7f, b'E', b'L', b'F', 2, class] {
        return None;
    }
    let sections = table(file, u64_at(file, 0x28)?, u16_at(file, 0x3a)?, u16_at(file, 0x3c)?)?;
    // SHT_DYNSYM; its link is the table of its strings.
    let symbols = sections.clone().find(|s| u32_at(s, 4) == Some(11))?;
    let strings = content(file, sections.clone().nth(u32_at(symbols, 0x28)? as usize)?)?;
    let symbol = content(file, symbols)?.chunks_exact(24).find(|s| {
        let text = u32_at(s, 0)
            .and_then(|at| strings.get(at as usize..))
            .unwrap_or_default();
        // STT_FUNC, and defined here (not SHN_UNDEF).
        let function = s.get(4).is_some_and(|info| info & 0xf == 2) && u16_at(s, 6) != Some(0);
        function
            && text
                .strip_prefix(name.as_bytes())
                .is_some_and(|rest| rest.first() == Some(&0))
    })?;
    let address = u64_at(symbol, 8)?;
    // PT_LOAD: what of the file lies at which address.
    let mut segments = table(file, u64_at(file, 0x20)?, u16_at(file, 0x36)?, u16_at(file, 0x38)?)?;
    segments.find_map(|p| {
        let (offset, at, bytes) = (u64_at(p, 8)?, u64_at(p, 16)?, u64_at(p, 32)?);
        let inside = address.checked_sub(at).filter(|n| *n < bytes)?;
        (u32_at(p, 0)? == 1).then(|| offset.checked_add(inside))?
    })
}

/// Entries of a table of headers.
fn table(file: &[u8], at: u64, each: u16, count: u16) -> Option<std::slice::ChunksExact<'_, u8>> {
    let (at, each) = (usize::try_from(at).ok()?, usize::from(each));
    let end = at.checked_add(each.checked_mul(usize::from(count))?)?;
    (each > 0)
        .then(|| file.get(at..end))
        .flatten()
        .map(|t| t.chunks_exact(each))
}

fn content<'a>(file: &'a [u8], section: &[u8]) -> Option<&'a [u8]> {
    let (at, bytes) = (
        usize::try_from(u64_at(section, 0x18)?).ok()?,
        usize::try_from(u64_at(section, 0x20)?).ok()?,
    );
    file.get(at..at.checked_add(bytes)?)
}

fn u16_at(b: &[u8], at: usize) -> Option<u16> {
    b.get(at..)?.first_chunk().map(|c| u16::from_ne_bytes(*c))
}
fn u32_at(b: &[u8], at: usize) -> Option<u32> {
    b.get(at..)?.first_chunk().map(|c| u32::from_ne_bytes(*c))
}
fn u64_at(b: &[u8], at: usize) -> Option<u64> {
    b.get(at..)?.first_chunk().map(|c| u64::from_ne_bytes(*c))
}
