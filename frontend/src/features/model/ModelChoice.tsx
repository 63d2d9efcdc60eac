import type { Chosen, ModelStatus, Models } from '@/api/types'
import { canThink } from './choice'
import { ModelPicker } from './ModelPicker'
import { ThinkingPicker } from './ThinkingPicker'

interface Props {
  model: ModelStatus
  models: Models | undefined
  chosen: Chosen
  onChoose: (chosen: Chosen) => void
  onConnect: () => void
}

/** Below the text field: the choice of the model, and whether it thinks. */
export function ModelChoice(props: Props) {
  const { models, chosen, onChoose } = props
  return (
    <>
      <ModelPicker {...props} />
      {models && canThink(models, chosen) && (
        <ThinkingPicker
          thinking={chosen.thinking ?? null}
          onThinking={thinking => onChoose({ ...chosen, thinking })}
        />
      )}
    </>
  )
}
