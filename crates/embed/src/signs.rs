//! Dot products of a query's vector with vectors of signs: one bit for each component, set for `+1` and clear for `-1`. The
//! query's vector is quantised to 8 bits, so the sums are exact integers, and every kernel returns the same numbers.

/// Number of components that one step of the largest kernel multiplies.
const STEP: usize = 64;

/// A query's vector, prepared for the comparison with vectors of signs.
pub struct SignQuery {
    /// The codes of the components, followed by zeros up to a multiple of [`STEP`].
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only kernels for x86-64 read them"))]
    codes: Vec<i8>,
    /// For each byte of signs, the sum of the codes of its set bits.
    sums: Vec<[i16; 256]>,
    /// The sum of all codes, which the products subtract once for the clear bits.
    all: i32,
    scale: f32,
}

impl SignQuery {
    /// Prepares a vector. The products are scaled as if each vector of signs had length 1.
    pub fn new(vector: &[f32]) -> Self {
        let most = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let inverse = if most > 0.0 { 127.0 / most } else { 0.0 };
        let mut codes: Vec<i8> = vector.iter().map(|value| (value * inverse).round() as i8).collect();
        let sums = codes.chunks(8).map(subset_sums).collect();
        let all = codes.iter().map(|code| i32::from(*code)).sum();
        codes.resize(codes.len().next_multiple_of(STEP), 0);
        let scale = most / 127.0 / (vector.len().max(1) as f32).sqrt();
        Self { codes, sums, all, scale }
    }

    /// Returns the number of bytes of signs that the vector is compared with.
    pub fn width(&self) -> usize {
        self.sums.len()
    }

    /// Returns the dot product with one vector of signs; the first component is the lowest bit of the first byte.
    ///
    /// # Panics
    /// Panics if there are not [`SignQuery::width`] bytes.
    pub fn product(&self, signs: &[u8]) -> f32 {
        assert_eq!(signs.len(), self.width(), "as many signs as components");
        #[cfg(target_arch = "x86_64")]
        if signs.len().is_multiple_of(STEP / 8) {
            use std::arch::is_x86_feature_detected;
            if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vnni") {
                // SAFETY: the condition checks that the processor supports these instructions.
                return self.scaled(unsafe { x86::set_sum_avx512(&self.codes, signs) });
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the same.
                return self.scaled(unsafe { x86::set_sum_avx2(&self.codes, signs) });
            }
        }
        self.scaled(self.set_sum(signs))
    }

    /// Returns the sum of the codes whose sign is set.
    fn set_sum(&self, signs: &[u8]) -> i32 {
        self.sums.iter().zip(signs).map(|(sums, byte)| i32::from(sums[usize::from(*byte)])).sum()
    }

    fn scaled(&self, set: i32) -> f32 {
        (2 * set - self.all) as f32 * self.scale
    }
}

/// Returns the sums of all subsets of up to eight codes, by the bits of the codes in the subset.
fn subset_sums(codes: &[i8]) -> [i16; 256] {
    let mut sums = [0; 256];
    for subset in 1..256_usize {
        let lowest = codes.get(subset.trailing_zeros() as usize).copied().unwrap_or_default();
        sums[subset] = sums[subset & (subset - 1)] + i16::from(lowest);
    }
    sums
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::STEP;

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub fn set_sum_avx512(codes: &[i8], signs: &[u8]) -> i32 {
        let ((codes, _), (signs, _)) = (codes.as_chunks::<STEP>(), signs.as_chunks::<{ STEP / 8 }>());
        let ones = _mm512_set1_epi8(1);
        let mut sum = _mm512_setzero_si512();
        for (codes, signs) in codes.iter().zip(signs) {
            // SAFETY: the array is 64 bytes long, and an unaligned load needs no alignment.
            let codes = unsafe { _mm512_loadu_si512(codes.as_ptr().cast()) };
            sum = _mm512_dpbusd_epi32(sum, _mm512_maskz_mov_epi8(u64::from_le_bytes(*signs), ones), codes);
        }
        _mm512_reduce_add_epi32(sum)
    }

    #[target_feature(enable = "avx2")]
    pub fn set_sum_avx2(codes: &[i8], signs: &[u8]) -> i32 {
        let ((codes, _), (signs, _)) = (codes.as_chunks::<32>(), signs.as_chunks::<4>());
        // For each component, the byte that has its sign, and the bit in this byte.
        let bytes = _mm256_set_epi64x(0x0303_0303_0303_0303, 0x0202_0202_0202_0202, 0x0101_0101_0101_0101, 0);
        let bits = _mm256_set1_epi64x(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
        let (one, ones) = (_mm256_set1_epi8(1), _mm256_set1_epi16(1));
        let mut sum = _mm256_setzero_si256();
        for (codes, signs) in codes.iter().zip(signs) {
            let signs = _mm256_shuffle_epi8(_mm256_set1_epi32(i32::from_le_bytes(*signs)), bytes);
            let is_set = _mm256_cmpeq_epi8(_mm256_and_si256(signs, bits), bits);
            // SAFETY: the array is 32 bytes long, and an unaligned load needs no alignment.
            let codes = unsafe { _mm256_loadu_si256(codes.as_ptr().cast()) };
            let pairs = _mm256_maddubs_epi16(one, _mm256_and_si256(is_set, codes));
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
        }
        let mut sums = [0i32; 8];
        // SAFETY: the array is 32 bytes long, and an unaligned store needs no alignment.
        unsafe { _mm256_storeu_si256(sums.as_mut_ptr().cast(), sum) };
        sums.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn kernels_agree_and_match_floats(
            vector in prop_oneof![
                prop::collection::vec(-1.0f32..1.0, 1..200),
                prop::collection::vec(-1.0f32..1.0, 384),
            ],
            bytes in prop::collection::vec(any::<u8>(), 48),
        ) {
            let query = SignQuery::new(&vector);
            let signs = &bytes[..query.width()];
            let exact: f32 = vector.iter().enumerate().map(|(at, value)| if signs[at / 8] >> (at % 8) & 1 == 1 { *value } else { -value }).sum();
            let length = vector.len() as f32;
            let product = query.product(signs);
            prop_assert_eq!(product, query.scaled(query.set_sum(signs)), "every kernel computes the same integers");
            #[cfg(target_arch = "x86_64")]
            if signs.len().is_multiple_of(STEP / 8) && std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the condition checks that the processor supports these instructions.
                let set = unsafe { x86::set_sum_avx2(&query.codes, signs) };
                prop_assert_eq!(set, query.set_sum(signs), "also where AVX-512 is preferred");
            }
            // The bound is half a step of 2 / 254 for each component.
            prop_assert!((product - exact / length.sqrt()).abs() <= length.sqrt() / 254.0 + 1e-4, "{product} {exact}");
        }
    }

    #[test]
    fn largest_codes_do_not_overflow() {
        let query = SignQuery::new(&[1.0; 4096]);
        assert_eq!((query.product(&[0xff; 512]), query.product(&[0; 512])), (64.0, -64.0));
        assert_eq!(SignQuery::new(&[0.0; 16]).product(&[0xff; 2]), 0.0);
    }
}
