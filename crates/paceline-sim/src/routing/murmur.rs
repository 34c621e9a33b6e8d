//! `MurmurHash3_x86_32`, the public-domain hash by Austin Appleby.

const C1: u32 = 0xcc9e_2d51;
const C2: u32 = 0x1b87_3593;

/// What a 32-bit block is turned into before it joins the state.
fn scramble(block: u32) -> u32 {
    block.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2)
}

/// Hash of `key` under `seed`; blocks are read little-endian.
pub fn murmur3_32(key: &[u8], seed: u32) -> u32 {
    let (blocks, rest) = key.as_chunks::<4>();
    let mut h = seed;
    for block in blocks {
        h ^= scramble(u32::from_le_bytes(*block));
        h = h.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !rest.is_empty() {
        let mut padded = [0; 4];
        padded[..rest.len()].copy_from_slice(rest);
        h ^= scramble(u32::from_le_bytes(padded));
    }
    h ^= key.len() as u32;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_vectors() {
        let cases: &[(&[u8], u32, u32)] = &[
            (b"", 0, 0),
            (b"", 1, 0x514e_28b7),
            (b"", 0xffff_ffff, 0x81f1_6f39),
            (&[0xff; 4], 0, 0x7629_3b50),
            (&[0x21, 0x43, 0x65, 0x87], 0, 0xf55b_516b),
            (&[0x21, 0x43, 0x65, 0x87], 0x5082_edee, 0x2362_f9de),
            (&[0x21, 0x43, 0x65], 0, 0x7e4a_8634),
            (&[0x21, 0x43], 0, 0xa0f7_b07a),
            (&[0x21], 0, 0x7266_1cf4),
            (&[0; 4], 0, 0x2362_f9de),
            (&[0; 3], 0, 0x85f0_b427),
            (b"Hello, world!", 0x9747_b28c, 0x2488_4cba),
            (b"The quick brown fox jumps over the lazy dog", 0x9747_b28c, 0x2fa8_26cd),
        ];
        for &(key, seed, hash) in cases {
            assert_eq!(murmur3_32(key, seed), hash, "{key:?} {seed:#x}");
        }
    }
}
