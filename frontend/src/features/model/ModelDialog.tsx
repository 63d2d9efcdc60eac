import { useMayConfigure } from '@/api/peopleQueries'
import type { ModelStatus } from '@/api/types'
import { Dialog } from '@/components/ui/Dialog'
import { OwnProviders } from '@/features/providers/OwnProviders'
import { type Key, useT } from '@/lib/i18n'
import '@/lib/later'
import { ConnectProvider } from './ConnectProvider'
import { DEMO } from './demo'
import { Way } from './Way'
import { detailOf, stateOf } from './words'

const WAYS: { title: Key; lines: string }[] = [
  { title: 'modelHelpDeepseek', lines: 'DEEPSEEK_API_KEY=sk-…' },
  {
    title: 'modelHelpOpenai',
    lines: 'OPENAI_API_KEY=sk-…\nOPENAI_BASE_URL=https://api.openai.com/v1\nOPENAI_MODEL=…',
  },
  { title: 'modelHelpOllama', lines: 'ollama serve\nollama pull qwen3' },
  { title: 'modelHelpDemo', lines: DEMO },
]

interface Props {
  model: ModelStatus | undefined
  open: boolean
  onOpenChange: (open: boolean) => void
}

/** The current model, its state, and how to connect a better one. */
export default function ModelDialog({ model, open, onOpenChange }: Props) {
  const t = useT()
  const ofServer = useMayConfigure()
  const words = model ? stateOf(model, t).words : ''
  const detail = model && detailOf(model, words)
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t('modelConnect')} size="wide">
      {model && (
        <div className="mb-4 rounded-lg border bg-card px-3 py-2.5 text-[13px]">
          <p className="font-semibold">{model.label || t('model')}</p>
          <p className="text-fg-2">{words}</p>
          {detail && <p className="mt-1 text-fg-2">{detail}</p>}
          {model.context_window > 0 && (
            <p className="mt-1 text-fg-3 text-small">{t('modelWindow', { n: model.context_window })}</p>
          )}
        </div>
      )}
      {ofServer && <OfServer onDone={() => onOpenChange(false)} />}
      {ofServer === false && <OwnProviders />}
    </Dialog>
  )
}

/** The ways in which a model is connected for everybody on the server. */
function OfServer({ onDone }: { onDone: () => void }) {
  const t = useT()
  return (
    <>
      <ConnectProvider className="mb-4 rounded-lg border bg-card p-3" onDone={onDone} />
      <p className="mb-3 text-[13px] text-fg-2">{t('modelHelpIntro')}</p>
      <ol className="space-y-3 text-[13px]">
        <Way title={t('modelHelpEnv')} lines="cp .env.example .env" />
        {WAYS.map(way => (
          <Way key={way.title} title={t(way.title)} lines={way.lines} />
        ))}
      </ol>
    </>
  )
}
