//! Dot products of queries' vectors with vectors of signs: one bit for each component, set for `+1` and clear for `-1`. The
//! queries' vectors are quantised to 8 bits, so the sums are exact integers, and every kernel returns the same numbers.

/// The vectors of several queries, prepared for the comparison with vectors of signs.
pub struct SignQueries {
    /// Number of queries.
    count: usize,
    /// Number of bytes of signs that the vectors are compared with.
    width: usize,
    kernel: Kernel,
}

struct Query {
    codes: Vec<i8>,
    /// The sum of all codes, which the products subtract once for the clear bits.
    all: i32,
    scale: f32,
}

/// An implementation of the products, with the codes as it reads them.
enum Kernel {
    #[cfg(target_arch = "x86_64")]
    Avx512(Vec<x86::Group>),
    /// Of vectors of at most [`x86::LONGEST_AVX2`] components.
    #[cfg(target_arch = "x86_64")]
    Avx2(Vec<x86::Group>),
    /// For each byte of signs, the sum of the codes of the set bits.
    Portable(Vec<(Query, Vec<[i16; 256]>)>),
}

impl SignQueries {
    /// Prepares vectors. The products are scaled as if each vector of signs had length 1.
    ///
    /// # Panics
    /// Panics if the vectors differ in length.
    pub fn new(vectors: &[Vec<f32>]) -> Self {
        Self::with_kernel(vectors, Kernel::best)
    }

    fn with_kernel(vectors: &[Vec<f32>], kernel: impl FnOnce(Vec<Query>) -> Kernel) -> Self {
        let length = vectors.first().map_or(0, Vec::len);
        assert!(vectors.iter().all(|vector| vector.len() == length), "vectors of the same length");
        let queries = vectors.iter().map(|vector| Query::new(vector)).collect();
        Self { count: vectors.len(), width: length.div_ceil(8), kernel: kernel(queries) }
    }

    /// Returns the number of queries.
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
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
            Kernel::Avx512(groups) => unsafe { x86::raise_avx512(groups, signs, highest) },
            // SAFETY: the same.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2(groups) => unsafe { x86::raise_avx2(groups, signs, highest) },
            Kernel::Portable(queries) => {
                for ((query, tables), highest) in queries.iter().zip(highest) {
                    let set = tables.iter().zip(signs).map(|(sums, byte)| i32::from(sums[usize::from(*byte)])).sum();
                    *highest = highest.max(product(set, query.all, query.scale));
                }
            }
        }
    }
}

/// Returns the product of a query and a vector of signs. `set` is the sum of the codes whose sign is set.
#[inline(always)]
fn product(set: i32, all: i32, scale: f32) -> f32 {
    (2 * set - all) as f32 * scale
}

impl Query {
    fn new(vector: &[f32]) -> Self {
        let most = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let inverse = if most > 0.0 { 127.0 / most } else { 0.0 };
        let codes: Vec<i8> = vector.iter().map(|value| (value * inverse).round() as i8).collect();
        let all = codes.iter().map(|code| i32::from(*code)).sum();
        Self { codes, all, scale: most / 127.0 / (vector.len().max(1) as f32).sqrt() }
    }
}

impl Kernel {
    /// Returns the fastest kernel that this processor supports and the length of the vectors allows.
    fn best(queries: Vec<Query>) -> Self {
        #[cfg(target_arch = "x86_64")]
        if queries.iter().all(|query| query.codes.len().is_multiple_of(x86::STEP)) {
            use std::arch::is_x86_feature_detected;
            let fits = |query: &Query| query.codes.len() <= x86::LONGEST_AVX2;
            if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vnni") {
                return Self::Avx512(x86::Group::of(&queries));
            }
            if is_x86_feature_detected!("avx2") && queries.iter().all(fits) {
                return Self::Avx2(x86::Group::of(&queries));
            }
        }
        Self::portable(queries)
    }

    fn portable(queries: Vec<Query>) -> Self {
        let with_sums = |query: Query| {
            let sums = query.codes.chunks(8).map(subset_sums).collect();
            (query, sums)
        };
        Self::Portable(queries.into_iter().map(with_sums).collect())
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

    use super::{Query, product};

    /// Number of components that one step of the largest kernel multiplies.
    pub const STEP: usize = 64;
    /// Number of queries that are compared with a vector of signs at once. Their sums stay in registers, and the bits of the signs
    /// are expanded to bytes once for all of them.
    const GROUP: usize = 8;

    /// Maximum number of components of a vector for AVX2, with which its sums of 16 bits cannot overflow: a step adds at most
    /// 4 · 127 to each.
    pub const LONGEST_AVX2: usize = 64 * STEP;

    /// A group of queries for a kernel that compares them at once. The last group is filled up with codes that are 0.
    pub struct Group {
        /// The codes of all queries for the first [`STEP`] components, then for the next, and so on.
        steps: Vec<[[i8; STEP]; GROUP]>,
        /// See [`Query`].
        all: [i32; GROUP],
        scales: [f32; GROUP],
    }

    impl Group {
        /// Divides queries into groups. The length of their vectors is a multiple of [`STEP`].
        pub fn of(queries: &[Query]) -> Vec<Self> {
            queries.chunks(GROUP).map(Self::new).collect()
        }

        fn new(queries: &[Query]) -> Self {
            let steps = queries.first().map_or(0, |query| query.codes.len() / STEP);
            let mut group = Self { steps: vec![[[0; STEP]; GROUP]; steps], all: [0; GROUP], scales: [0.0; GROUP] };
            for (at, query) in queries.iter().enumerate() {
                (group.all[at], group.scales[at]) = (query.all, query.scale);
                for (step, codes) in group.steps.iter_mut().zip(query.codes.as_chunks::<STEP>().0) {
                    step[at] = *codes;
                }
            }
            group
        }

        /// Raises the number of each query to its product if it is lower. `set` are the sums of the codes whose sign is set.
        #[inline(always)]
        fn raise(&self, set: [i32; GROUP], highest: &mut [f32]) {
            let products: [f32; GROUP] = std::array::from_fn(|at| product(set[at], self.all[at], self.scales[at]));
            let raise = |(highest, product): (&mut f32, f32)| *highest = highest.max(product);
            match <&mut [f32; GROUP]>::try_from(&mut *highest) {
                // The length is known here, so one instruction raises all of them.
                Ok(highest) => highest.iter_mut().zip(products).for_each(raise),
                Err(_) => highest.iter_mut().zip(products).for_each(raise),
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub fn raise_avx512(groups: &[Group], signs: &[u8], highest: &mut [f32]) {
        let (signs, _) = signs.as_chunks::<{ STEP / 8 }>();
        let ones = _mm512_set1_epi8(1);
        for (group, highest) in groups.iter().zip(highest.chunks_mut(GROUP)) {
            let mut sums = [_mm512_setzero_si512(); GROUP];
            for (codes, signs) in group.steps.iter().zip(signs) {
                let set = _mm512_maskz_mov_epi8(u64::from_le_bytes(*signs), ones);
                for (sum, codes) in sums.iter_mut().zip(codes) {
                    // SAFETY: the array is 64 bytes long, and an unaligned load needs no alignment.
                    *sum = _mm512_dpbusd_epi32(*sum, set, unsafe { _mm512_loadu_si512(codes.as_ptr().cast()) });
                }
            }
            group.raise(sums.map(|sum| _mm512_reduce_add_epi32(sum)), highest);
        }
    }

    #[target_feature(enable = "avx2")]
    pub fn raise_avx2(groups: &[Group], signs: &[u8], highest: &mut [f32]) {
        let (signs, _) = signs.as_chunks();
        for (group, highest) in groups.iter().zip(highest.chunks_mut(GROUP)) {
            group.raise(whole_sums(small_sums(group, signs)), highest);
        }
    }

    /// Returns the sum of the sixteen numbers of each vector.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn whole_sums(small: [__m256i; GROUP]) -> [i32; GROUP] {
        let [a, b, c, d, e, f, g, h] = small.map(|small| _mm256_madd_epi16(small, _mm256_set1_epi16(1)));
        let sums = |a, b, c, d| _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
        // Each half of these vectors has half of the sum of each of four vectors.
        let (first, second) = (sums(a, b, c, d), sums(e, f, g, h));
        let low = _mm256_permute2x128_si256::<0x20>(first, second);
        let high = _mm256_permute2x128_si256::<0x31>(first, second);
        let mut whole = [0; GROUP];
        // SAFETY: the array holds eight numbers, and an unaligned store needs no alignment.
        unsafe { _mm256_storeu_si256(whole.as_mut_ptr().cast(), _mm256_add_epi32(low, high)) };
        whole
    }

    /// Returns, for each query of a group, sixteen sums of the codes whose sign is set.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn small_sums(group: &Group, signs: &[[u8; STEP / 8]]) -> [__m256i; GROUP] {
        // For each component, the byte that has its sign, and the bit in this byte.
        let bytes = _mm256_set_epi64x(0x0303_0303_0303_0303, 0x0202_0202_0202_0202, 0x0101_0101_0101_0101, 0);
        let bits = _mm256_set1_epi64x(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
        let ones = _mm256_set1_epi8(1);
        let mut sums = [_mm256_setzero_si256(); GROUP];
        for (codes, signs) in group.steps.iter().zip(signs) {
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
        #[cfg(target_arch = "x86_64")]
        {
            let fits = |vector: &Vec<f32>| vector.len().is_multiple_of(x86::STEP) && vector.len() <= x86::LONGEST_AVX2;
            if vectors.iter().all(fits) && std::arch::is_x86_feature_detected!("avx2") {
                // Also where AVX-512 is preferred.
                kernels.push(SignQueries::with_kernel(vectors, |queries| Kernel::Avx2(x86::Group::of(&queries))));
            }
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
