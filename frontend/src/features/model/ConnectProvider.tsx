import { CircleCheck, KeyRound } from 'lucide-react'
import { type FormEvent, useId, useState } from 'react'
import { checkProvider, connectProvider } from '@/api/endpoints'
import { patchModel } from '@/api/queries'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'
import { Field } from './Field'

const PRESETS = [
  { name: 'DeepSeek', address: 'https://api.deepseek.com' },
  { name: 'OpenAI', address: 'https://api.openai.com/v1' },
  { name: 'Ollama', address: 'http://127.0.0.1:11434/v1' },
] as const

type State =
  | { kind: 'typing' }
  | { kind: 'checking' }
  /** The provider accepted the key and listed its models. */
  | { kind: 'checked'; models: string[] }
  | { kind: 'saving'; models: string[] }

/**
 * Address, key and model: checked with the provider first, then stored by the server. The key is never shown again.
 */
export function ConnectProvider({ onDone }: { onDone: () => void }) {
  const t = useT()
  const id = useId()
  const [address, setAddress] = useState('')
  const [key, setKey] = useState('')
  const [model, setModel] = useState('')
  const [state, setState] = useState<State>({ kind: 'typing' })
  const [problem, setProblem] = useState<string | null>(null)
  const edit = (set: (text: string) => void) => (text: string) => {
    set(text)
    setState({ kind: 'typing' })
    setProblem(null)
  }
  const fail = (error: unknown, next: State) => {
    setProblem(reasonOf(error))
    setState(next)
  }
  const check = async () => {
    setProblem(null)
    setState({ kind: 'checking' })
    try {
      const models = await checkProvider(address, key)
      setModel(known => (models.includes(known) ? known : (models[0] ?? known)))
      setState({ kind: 'checked', models })
    } catch (error) {
      fail(error, { kind: 'typing' })
    }
  }
  const save = async (models: string[]) => {
    setProblem(null)
    setState({ kind: 'saving', models })
    try {
      const status = await connectProvider(address, key, model)
      setKey('')
      patchModel(status)
      toast(t('providerDone', { model: status.label || status.model }))
      onDone()
    } catch (error) {
      fail(error, { kind: 'checked', models })
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (state.kind === 'typing') void check()
    else if (state.kind === 'checked') void save(state.models)
  }
  const busy = state.kind === 'checking' || state.kind === 'saving'
  const models = state.kind === 'checked' || state.kind === 'saving' ? state.models : null
  return (
    <form onSubmit={submit} className="mb-4 space-y-3 rounded-lg border bg-card p-3 text-[13px]">
      <div className="flex flex-wrap items-center gap-1.5">
        <span className="me-1 flex items-center gap-1.5 font-medium">
          <KeyRound size={14} aria-hidden />
          {t('providerTitle')}
        </span>
        {PRESETS.map(preset => (
          <Button key={preset.name} size="small" round onClick={() => edit(setAddress)(preset.address)}>
            {preset.name}
          </Button>
        ))}
      </div>
      <Field label={t('providerAddress')} value={address} onChange={edit(setAddress)} type="url" />
      <Field label={t('providerKey')} value={key} onChange={edit(setKey)} type="password" />
      {models && (
        <div className="space-y-3">
          <p className="flex items-center gap-1.5 text-ok text-small" role="status">
            <CircleCheck size={14} aria-hidden />
            {t('providerWorks', { n: models.length })}
          </p>
          <Field label={t('providerModel')} value={model} onChange={setModel} type="text" list={id} />
          <datalist id={id}>
            {models.map(name => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </div>
      )}
      {problem && <ErrorText>{problem}</ErrorText>}
      <div className="flex items-center justify-between gap-3">
        <p className="text-fg-3 text-meta">{t('providerKept')}</p>
        <Button
          type="submit"
          look="solid"
          disabled={busy || address.trim() === '' || (models !== null && model.trim() === '')}
        >
          {t(busy ? 'providerBusy' : models ? 'providerUse' : 'providerCheck')}
        </Button>
      </div>
    </form>
  )
}
