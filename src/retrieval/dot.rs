//! Scalar products of a question and 8-bit codes, with the widest instructions the processor has. Whole numbers are
//! added, so that every way gives the same.

use std::thread;

/// A thread is started for so many bytes of codes, and this many threads at most.
const SHARE: usize = 2 << 20;
const MAX_THREADS: usize = 8;

/// A way to calculate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arm {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

/// A question's code, each number as the instructions want it.
pub(super) struct Wide(Vec<i16>);

impl Wide {
    pub fn of(code: &[i8]) -> Self {
        Self(code.iter().copied().map(i16::from).collect())
    }
}

impl Arm {
    /// Those this processor can, the fastest first.
    pub fn here() -> Vec<Self> {
        let mut arms = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected;
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
                arms.push(Self::Avx512);
            }
            if is_x86_feature_detected!("avx2") {
                arms.push(Self::Avx2);
            }
        }
        arms.push(Self::Portable);
        arms
    }

    pub fn best() -> Self {
        Self::here()[0]
    }

    /// The products of the question and each of `rows`, which are codes of the question's length in `codes`; by several
    /// threads where there are many.
    pub fn products(self, question: &Wide, codes: &[i8], rows: &[u32]) -> Vec<i32> {
        let mut products = vec![0; rows.len()];
        let most = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let threads = (rows.len() * question.0.len() / SHARE).clamp(1, most);
        let share = rows.len().div_ceil(threads).max(1);
        thread::scope(|scope| {
            let mut shares = rows.chunks(share).zip(products.chunks_mut(share));
            let first = shares.next();
            for (rows, products) in shares {
                scope.spawn(move || self.fill(question, codes, (rows, products)));
            }
            if let Some(first) = first {
                self.fill(question, codes, first);
            }
        });
        products
    }

    fn fill(self, question: &Wide, codes: &[i8], (rows, products): (&[u32], &mut [i32])) {
        let length = question.0.len();
        let code = |row: u32| &codes[row as usize * length..][..length];
        let rows = rows.iter().map(|row| code(*row)).zip(products);
        match self {
            // SAFETY: `here`, which alone makes this value outside tests of it, has asked the processor.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => rows.for_each(|(code, product)| *product = unsafe { x86::avx512(&question.0, code) }),
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => rows.for_each(|(code, product)| *product = unsafe { x86::avx2(&question.0, code) }),
            Self::Portable => rows.for_each(|(code, product)| *product = portable(&question.0, code)),
        }
    }
}

fn portable(question: &[i16], code: &[i8]) -> i32 {
    question.iter().zip(code).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::portable;

    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn avx512(question: &[i16], code: &[i8]) -> i32 {
        let ((questions, question), (codes, code)) = (question.as_chunks::<32>(), code.as_chunks::<32>());
        let mut sum = _mm512_setzero_si512();
        for (question, code) in questions.iter().zip(codes) {
            // SAFETY: 64 and 32 bytes are there, and need no alignment.
            let (a, b) =
                unsafe { (_mm512_loadu_si512(question.as_ptr().cast()), _mm256_loadu_si256(code.as_ptr().cast())) };
            sum = _mm512_add_epi32(sum, _mm512_madd_epi16(a, _mm512_cvtepi8_epi16(b)));
        }
        _mm512_reduce_add_epi32(sum) + portable(question, code)
    }

    #[target_feature(enable = "avx2")]
    pub fn avx2(question: &[i16], code: &[i8]) -> i32 {
        let ((questions, question), (codes, code)) = (question.as_chunks::<16>(), code.as_chunks::<16>());
        let mut sum = _mm256_setzero_si256();
        for (question, code) in questions.iter().zip(codes) {
            // SAFETY: 32 and 16 bytes are there, and need no alignment.
            let (a, b) =
                unsafe { (_mm256_loadu_si256(question.as_ptr().cast()), _mm_loadu_si128(code.as_ptr().cast())) };
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(a, _mm256_cvtepi8_epi16(b)));
        }
        let mut lanes = [0i32; 8];
        // SAFETY: there is room for eight numbers, and it needs no alignment.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sum) };
        lanes.iter().sum::<i32>() + portable(question, code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By definition, in numbers that cannot overflow.
    fn expected(question: &[i8], codes: &[i8], rows: &[u32]) -> Vec<i32> {
        let product = |row: &u32| {
            let code = &codes[*row as usize * question.len()..][..question.len()];
            question.iter().zip(code).map(|(&a, &b)| i64::from(a) * i64::from(b)).sum::<i64>()
        };
        rows.iter().map(|row| product(row).try_into().unwrap()).collect()
    }

    #[test]
    fn the_portable_way_is_always_there_and_the_widest_comes_first() {
        let arms = Arm::here();
        assert_eq!(arms.last(), Some(&Arm::Portable));
        assert_eq!(Arm::best(), arms[0]);
        #[cfg(target_arch = "x86_64")]
        {
            assert_eq!(arms.contains(&Arm::Avx2), std::arch::is_x86_feature_detected!("avx2"));
            assert_eq!(arms.contains(&Arm::Avx512), std::arch::is_x86_feature_detected!("avx512bw"));
        }
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        for length in [1, 15, 16, 17, 31, 32, 33, 63, 64, 512, 3_072] {
            for (a, b) in [(127, 127), (-128, -128), (127, -128), (-128, 127)] {
                let (question, code) = (vec![a; length], vec![b; length]);
                for arm in Arm::here() {
                    let found = arm.products(&Wide::of(&question), &code, &[0]);
                    assert_eq!(found, expected(&question, &code, &[0]), "{arm:?}, {length} times {a} and {b}");
                }
            }
        }
    }

    #[test]
    fn many_codes_are_compared_by_threads_with_the_same_result() {
        let (length, count) = (512, 3 * SHARE / 512 + 77);
        let mut state = 7u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as i8
        };
        let question: Vec<i8> = (0..length).map(|_| next()).collect();
        let codes: Vec<i8> = (0..length * count).map(|_| next()).collect();
        let rows: Vec<u32> = (0..count as u32).rev().collect();
        let expected = expected(&question, &codes, &rows);
        for arm in Arm::here() {
            assert!(arm.products(&Wide::of(&question), &codes, &rows) == expected, "{arm:?}");
        }
    }

    proptest! {
        #[test]
        fn every_way_gives_the_same(
            (question, codes) in (0usize..200).prop_flat_map(|length| {
                (prop::collection::vec(any::<i8>(), length), prop::collection::vec(any::<i8>(), length * 5))
            }),
            rows in prop::collection::vec(0u32..5, 0..9),
        ) {
            let expected = expected(&question, &codes, &rows);
            for arm in Arm::here() {
                prop_assert_eq!(&arm.products(&Wide::of(&question), &codes, &rows), &expected, "{:?}", arm);
            }
        }
    }
}
