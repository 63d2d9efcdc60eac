//! Checks of the processor: without the instructions that llama.cpp was compiled for, the first computation would
//! kill the process without an error message.

/// Checks that the processor has the instructions this binary was compiled for.
///
/// # Errors
/// Returns a message that names the missing instructions.
pub fn fits() -> Result<(), String> {
    #[cfg(target_arch = "x86_64")]
    {
        let has = |name: &str| flags().split_whitespace().any(|f| f == name);
        let mut needed = vec!["avx2", "fma", "f16c", "bmi2"];
        if option_env!("GGML_AVX512") == Some("ON") {
            needed.extend(["avx512f", "avx512_vnni", "avx512vbmi"]);
        }
        let missing: Vec<&str> = needed.into_iter().filter(|n| !flags().is_empty() && !has(n)).collect();
        if !missing.is_empty() {
            return Err(format!(
                "this program was compiled for a processor with {}, which this one lacks; compile it on this machine",
                missing.join(", ")
            ));
        }
    }
    Ok(())
}

/// Returns the processor flags that the kernel lists, or an empty string if there is no such list.
#[cfg(target_arch = "x86_64")]
fn flags() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|l| l.starts_with("flags"));
    line.and_then(|l| l.split_once(':')).map(|(_, flags)| flags.to_owned()).unwrap_or_default()
}

/// Returns the default number of compute threads: one on one or two cores, because a second thread would only
/// busy-wait for the first whenever another process runs; otherwise half of the available cores.
pub fn default_threads() -> i32 {
    let offered = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    i32::try_from(if offered <= 2 { 1 } else { offered / 2 }).unwrap_or(1)
}
