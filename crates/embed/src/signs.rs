//! Dot products of queries' vectors with vectors of signs: one bit for each component, set for `+1` and clear for `-1`. The
//! queries' vectors are quantised to 8 bits, so the sums are exact integers, and every kernel returns the same numbers.

/// Number of components that one step of the largest kernel multiplies.
const STEP: usize = 64;
/// Number of queries that are compared with a vector of signs at once. Their sums stay in registers, and the bits of the signs
/// are expanded to bytes once for all of them.
const GROUP: usize = 8;

/// The codes of a group of queries for [`STEP`] components.
type GroupStep = [[i8; STEP]; GROUP];

/// The vectors of several queries, prepared for the comparison with vectors of signs.
pub struct SignQueries {
    queries: Vec<Query>,
    /// Number of bytes of signs that the vectors are compared with.
    width: usize,
    kernel: Kernel,
}

struct Query {
    /// The sum of all codes, which the products subtract once for the clear bits.
    all: i32,
    scale: f32,
}

/// An implementation of the products, with the codes as it reads them.
enum Kernel {
    /// The steps of the first group, then those of the next. Groups are filled up with codes that are 0.
    #[cfg(target_arch = "x86_64")]
    Avx512(Vec<GroupStep>),
    #[cfg(target_arch = "x86_64")]
    Avx2(Vec<GroupStep>),
    /// For each query and each byte of signs, the sum of the codes of the set bits.
    Portable(Vec<Vec<[i16; 256]>>),
}

impl SignQueries {
    /// Prepares vectors. The products are scaled as if each vector of signs had length 1.
    ///
    /// # Panics
    /// Panics if the vectors differ in length.
    pub fn new(vectors: &[Vec<f32>]) -> Self {
        Self::with_kernel(vectors, Kernel::best)
    }

    fn with_kernel(vectors: &[Vec<f32>], kernel: impl FnOnce(&[Vec<i8>]) -> Kernel) -> Self {
        let length = vectors.first().map_or(0, Vec::len);
        assert!(vectors.iter().all(|vector| vector.len() == length), "vectors of the same length");
        let (codes, queries): (Vec<_>, Vec<_>) = vectors.iter().map(|vector| quantised(vector)).unzip();
        Self { queries, width: length.div_ceil(8), kernel: kernel(&codes) }
    }

    /// Returns the number of queries.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Computes the dot product of each query with one vector of signs, and raises the query's number in `highest` to it if it
    /// is lower. The first component is the lowest bit of the first byte.
    ///
    /// # Panics
    /// Panics if there is not one bit for each component, or not one number for each query.
    pub fn raise_to_products(&self, signs: &[u8], highest: &mut [f32]) {
        assert_eq!(signs.len(), self.width, "as many signs as components");
        assert_eq!(highest.len(), self.len(), "one number for each query");
        match &self.kernel {
            // SAFETY: this variant is constructed only after the processor was checked.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512(codes) => unsafe { x86::raise_avx512(&self.queries, (codes, signs), highest) },
            // SAFETY: the same.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2(codes) => unsafe { x86::raise_avx2(&self.queries, (codes, signs), highest) },
            Kernel::Portable(tables) => {
                for ((query, tables), highest) in self.queries.iter().zip(tables).zip(highest) {
                    let set = tables.iter().zip(signs).map(|(sums, byte)| i32::from(sums[usize::from(*byte)])).sum();
                    query.raise(highest, set);
                }
            }
        }
    }
}

impl Query {
    /// Raises `highest` to the product of a vector of signs if it is lower. `set` is the sum of the codes whose sign is set.
    #[inline(always)]
    fn raise(&self, highest: &mut f32, set: i32) {
        *highest = highest.max((2 * set - self.all) as f32 * self.scale);
    }
}

impl Kernel {
    /// Returns the fastest kernel that this processor supports and the length of the vectors allows.
    fn best(codes: &[Vec<i8>]) -> Self {
        #[cfg(target_arch = "x86_64")]
        if codes.iter().all(|codes| codes.len().is_multiple_of(STEP)) {
            use std::arch::is_x86_feature_detected;
            if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vnni") {
                return Self::Avx512(x86::groups(codes));
            }
            if is_x86_feature_detected!("avx2") {
                return Self::Avx2(x86::groups(codes));
            }
        }
        Self::portable(codes)
    }

    fn portable(codes: &[Vec<i8>]) -> Self {
        Self::Portable(codes.iter().map(|codes| codes.chunks(8).map(subset_sums).collect()).collect())
    }
}

/// Returns the 8-bit codes of a vector, and what scales their products.
fn quantised(vector: &[f32]) -> (Vec<i8>, Query) {
    let most = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    let inverse = if most > 0.0 { 127.0 / most } else { 0.0 };
    let codes: Vec<i8> = vector.iter().map(|value| (value * inverse).round() as i8).collect();
    let all = codes.iter().map(|code| i32::from(*code)).sum();
    (codes, Query { all, scale: most / 127.0 / (vector.len().max(1) as f32).sqrt() })
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

    use super::{GROUP, GroupStep, Query, STEP};

    /// Number of steps after which sums of 16 bits could overflow: a step adds at most 4 · 127.
    const STEPS_OF_SMALL_SUMS: usize = 64;

    pub fn groups(codes: &[Vec<i8>]) -> Vec<GroupStep> {
        let steps = codes.first().map_or(0, |codes| codes.len() / STEP);
        let mut groups = vec![[[0; STEP]; GROUP]; codes.len().div_ceil(GROUP) * steps];
        for (query, codes) in codes.iter().enumerate() {
            for (step, codes) in codes.as_chunks::<STEP>().0.iter().enumerate() {
                groups[query / GROUP * steps + step][query % GROUP] = *codes;
            }
        }
        groups
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub fn raise_avx512(queries: &[Query], (codes, signs): (&[GroupStep], &[u8]), highest: &mut [f32]) {
        let (signs, _) = signs.as_chunks::<{ STEP / 8 }>();
        let ones = _mm512_set1_epi8(1);
        let groups = queries.chunks(GROUP).zip(highest.chunks_mut(GROUP)).zip(codes.chunks(signs.len().max(1)));
        for ((queries, highest), codes) in groups {
            let mut sums = [_mm512_setzero_si512(); GROUP];
            for (codes, signs) in codes.iter().zip(signs) {
                let set = _mm512_maskz_mov_epi8(u64::from_le_bytes(*signs), ones);
                for (sum, codes) in sums.iter_mut().zip(codes) {
                    // SAFETY: the array is 64 bytes long, and an unaligned load needs no alignment.
                    *sum = _mm512_dpbusd_epi32(*sum, set, unsafe { _mm512_loadu_si512(codes.as_ptr().cast()) });
                }
            }
            for ((query, highest), sum) in queries.iter().zip(highest).zip(sums) {
                query.raise(highest, _mm512_reduce_add_epi32(sum));
            }
        }
    }

    #[target_feature(enable = "avx2")]
    pub fn raise_avx2(queries: &[Query], (codes, signs): (&[GroupStep], &[u8]), highest: &mut [f32]) {
        let (signs, _) = signs.as_chunks::<{ STEP / 8 }>();
        let ones = _mm256_set1_epi16(1);
        let groups = queries.chunks(GROUP).zip(highest.chunks_mut(GROUP)).zip(codes.chunks(signs.len().max(1)));
        for ((queries, highest), codes) in groups {
            let mut sums = [_mm256_setzero_si256(); GROUP];
            let parts = codes.chunks(STEPS_OF_SMALL_SUMS).zip(signs.chunks(STEPS_OF_SMALL_SUMS));
            for (codes, signs) in parts {
                for (sum, small) in sums.iter_mut().zip(small_sums_avx2(codes, signs)) {
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(small, ones));
                }
            }
            for ((query, highest), sum) in queries.iter().zip(highest).zip(sums) {
                let halves = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
                let pairs = _mm_add_epi32(halves, _mm_shuffle_epi32(halves, 0b01_00_11_10));
                let one = _mm_add_epi32(pairs, _mm_shuffle_epi32(pairs, 0b10_11_00_01));
                query.raise(highest, _mm_cvtsi128_si32(one));
            }
        }
    }

    /// Returns, for each query of a group, sixteen sums of the codes whose sign is set.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn small_sums_avx2(codes: &[GroupStep], signs: &[[u8; STEP / 8]]) -> [__m256i; GROUP] {
        // For each component, the byte that has its sign, and the bit in this byte.
        let bytes = _mm256_set_epi64x(0x0303_0303_0303_0303, 0x0202_0202_0202_0202, 0x0101_0101_0101_0101, 0);
        let bits = _mm256_set1_epi64x(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
        let ones = _mm256_set1_epi8(1);
        let mut sums = [_mm256_setzero_si256(); GROUP];
        for (codes, signs) in codes.iter().zip(signs) {
            let signs = u64::from_le_bytes(*signs);
            for half in 0..2 {
                let spread = _mm256_shuffle_epi8(_mm256_set1_epi32((signs >> (32 * half)) as i32), bytes);
                let set = _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(spread, bits), bits), ones);
                for (sum, codes) in sums.iter_mut().zip(codes) {
                    // SAFETY: each half of the array is 32 bytes long, and an unaligned load needs no alignment.
                    let codes = unsafe { _mm256_loadu_si256(codes.as_ptr().cast::<__m256i>().add(half)) };
                    *sum = _mm256_add_epi16(*sum, _mm256_maddubs_epi16(set, codes));
                }
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn products(queries: &SignQueries, signs: &[u8]) -> Vec<f32> {
        let mut highest = vec![f32::NEG_INFINITY; queries.len()];
        queries.raise_to_products(signs, &mut highest);
        highest
    }

    /// Returns the products computed by each kernel that this processor supports.
    fn by_each_kernel(vectors: &[Vec<f32>], signs: &[u8]) -> Vec<Vec<f32>> {
        let mut kernels = vec![SignQueries::new(vectors), SignQueries::with_kernel(vectors, Kernel::portable)];
        #[cfg(target_arch = "x86_64")]
        if vectors.iter().all(|vector| vector.len().is_multiple_of(STEP)) && std::arch::is_x86_feature_detected!("avx2")
        {
            // Also where AVX-512 is preferred.
            kernels.push(SignQueries::with_kernel(vectors, |codes| Kernel::Avx2(x86::groups(codes))));
        }
        kernels.iter().map(|queries| products(queries, signs)).collect()
    }

    proptest! {
        #[test]
        fn kernels_agree_and_match_floats(
            vectors in prop_oneof![(1usize..200), Just(384), Just(512)]
                .prop_flat_map(|length| prop::collection::vec(prop::collection::vec(-1.0f32..1.0, length), 1..11)),
            bytes in prop::collection::vec(any::<u8>(), 64),
        ) {
            let length = vectors[0].len();
            let signs = &bytes[..length.div_ceil(8)];
            let kernels = by_each_kernel(&vectors, signs);
            prop_assert!(kernels.iter().all(|products| *products == kernels[0]), "every kernel computes the same numbers");
            for (vector, product) in vectors.iter().zip(&kernels[0]) {
                let signed = |(at, value): (usize, &f32)| if signs[at / 8] >> (at % 8) & 1 == 1 { *value } else { -value };
                let exact: f32 = vector.iter().enumerate().map(signed).sum();
                let root = (length as f32).sqrt();
                // The bound is half a step of 2 / 254 for each component.
                prop_assert!((product - exact / root).abs() <= root / 254.0 + 1e-4, "{product} {exact}");
            }
        }
    }

    #[test]
    fn largest_codes_do_not_overflow() {
        for (length, root) in [(4096, 64.0), (16_384, 128.0)] {
            let vectors = [vec![1.0; length], vec![-1.0; length]];
            for (signs, expected) in [(0xff, [root, -root]), (0, [-root, root])] {
                for products in by_each_kernel(&vectors, &vec![signs; length / 8]) {
                    assert_eq!(products, expected);
                }
            }
        }
        assert_eq!(products(&SignQueries::new(&[vec![0.0; 16]]), &[0xff; 2]), [0.0]);
    }

    #[test]
    fn only_lower_numbers_are_raised() {
        let queries = SignQueries::new(&[vec![1.0; 64], vec![-1.0; 64]]);
        let mut highest = [9.0, 0.0];
        queries.raise_to_products(&[0; 8], &mut highest);
        assert_eq!(highest, [9.0, 8.0]);
        assert_eq!((queries.len(), queries.is_empty()), (2, false));
    }
}
