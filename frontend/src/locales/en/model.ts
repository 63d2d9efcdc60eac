/** Which model answers, its states, and connecting a provider. */
export const model = {
  model: 'Model',
  modelNone: 'No model connected',
  modelMissing: 'Built-in model file not found',
  modelStarting: 'Starting',
  modelReading: 'Processing the prompt, {n} %',
  modelReady: 'Ready',
  modelFailed: 'Model isn’t responding',
  modelSmall: 'Small demo model: slow and often wrong. Connect a better one.',
  modelSmallShort: 'Demo model. Connect a better one.',
  choiceNotSaved: 'the choice of the model or permissions wasn’t saved',
  modelConnect: 'Connect a model',
  modelChange: 'Change model',
  modelStartingAt: 'Starting, {n} %',
  fromEnvironment: 'environment',
  fromBuiltIn: 'built-in',
  fromFound: 'found on this machine',
}
