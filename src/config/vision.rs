//! Which models see pictures, for models that do not declare it themselves: `vision_models` in config.yml, or
//! `MINICLAW_VISION_MODELS`. A name is a model's name as sent to its server; case is ignored.

use super::Environment;
use crate::provider::Endpoint;

/// Names of models that see pictures, according to the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisionModels(Vec<String>);

impl VisionModels {
    /// The variable overrides the file; its names are separated by commas.
    pub(super) fn of(listed: Vec<String>, environment: &Environment) -> Self {
        let names = match environment.value("MINICLAW_VISION_MODELS") {
            Some(names) => names.split(',').map(str::to_owned).collect(),
            None => listed,
        };
        Self(names.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect())
    }

    /// Marks the endpoint as seeing pictures if its model is listed. Never takes that ability away.
    pub fn mark(&self, endpoint: &mut Endpoint) {
        endpoint.profile.vision |= self.0.iter().any(|name| name.eq_ignore_ascii_case(&endpoint.model));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::load;

    fn seeing(files: &[(&str, &str)], process: &[(&str, &str)]) -> Vec<bool> {
        let config = load(files, process).unwrap();
        config.endpoints.iter().map(|configured| configured.endpoint.profile.vision).collect()
    }

    #[test]
    fn vision_of_environment_model_is_configurable() {
        let model = [("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"), ("OPENAI_MODEL", "Qwen2-VL")];
        assert_eq!(seeing(&[], &model), [false]);
        assert_eq!(seeing(&[("config.yml", "vision_models: [other, qwen2-vl]\n")], &model), [true]);
        let said = |names| [model[0], model[1], ("MINICLAW_VISION_MODELS", names)];
        assert_eq!(seeing(&[], &said("other, qwen2-vl ,")), [true]);
        assert_eq!(seeing(&[("config.yml", "vision_models: [qwen2-vl]\n")], &said("other")), [false]);
    }

    #[test]
    fn declared_vision_is_kept() {
        let file = "vision_models: [b]\nmodels:\n  - {id: a, api_url: 'http://h/v1', vision: true}\n  \
                    - {id: b, api_url: 'http://h/v1'}\n  - {id: c, api_url: 'http://h/v1'}\n";
        assert_eq!(seeing(&[("config.yml", file)], &[]), [true, true, false]);
    }
}
