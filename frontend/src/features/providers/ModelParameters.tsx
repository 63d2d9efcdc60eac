import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { ProviderModel } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { Input } from '@/components/ui/Input'
import { Segmented } from '@/components/ui/Segmented'
import { type Key, useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { saveParameters } from './changes'

type Parameter = Exclude<keyof ProviderModel['parameters'], 'thinking'>

const FIELDS: readonly { name: Parameter; label: Key; step: number | 'any' }[] = [
  { name: 'temperature', label: 'parameterTemperature', step: 'any' },
  { name: 'top_p', label: 'parameterTopP', step: 'any' },
  { name: 'max_tokens', label: 'parameterMaxTokens', step: 1 },
  { name: 'context_window', label: 'parameterContextWindow', step: 1 },
]

type Thinking = 'auto' | 'on' | 'off'
const THINKING = { auto: null, on: true, off: false } as const

interface Props {
  model: ProviderModel
  onDone: () => void
}

/** The parameters of each request to a model. */
export function ModelParameters({ model, onDone }: Props) {
  const t = useT()
  const given = model.parameters
  const [texts, setTexts] = useState(() =>
    Object.fromEntries(FIELDS.map(({ name }) => [name, given[name]?.toString() ?? ''])),
  )
  const [thinking, setThinking] = useState<Thinking>(
    given.thinking == null ? 'auto' : given.thinking ? 'on' : 'off',
  )
  const save = useMutation({
    mutationFn: () =>
      saveParameters(model.id, {
        ...Object.fromEntries(
          Object.entries(texts).map(([name, text]) => [name, text === '' ? null : Number(text)]),
        ),
        ...(model.thinking === 'switchable' && { thinking: THINKING[thinking] }),
      }),
    onSuccess: onDone,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!save.isPending) save.mutate()
  }
  return (
    <form onSubmit={submit} className="my-1.5 space-y-2 rounded-md border bg-code p-2.5">
      <div className="grid grid-cols-[repeat(auto-fill,minmax(150px,1fr))] gap-2">
        {FIELDS.map(({ name, label, step }) => (
          <label key={name} className="block">
            <span className="mb-0.5 block text-fg-2">{t(label)}</span>
            <Input
              type="number"
              size="small"
              min={0}
              step={step}
              value={texts[name] ?? ''}
              onChange={event => setTexts({ ...texts, [name]: event.target.value })}
            />
          </label>
        ))}
      </div>
      {model.thinking === 'switchable' && (
        <div className="flex flex-wrap items-center gap-2">
          <span className="text-fg-2">{t('parameterThinking')}</span>
          <Segmented<Thinking>
            label={t('parameterThinking')}
            value={thinking}
            options={[
              { value: 'auto', words: t('parameterThinkingAuto') },
              { value: 'on', words: t('parameterThinkingOn') },
              { value: 'off', words: t('parameterThinkingOff') },
            ]}
            onChange={setThinking}
          />
        </div>
      )}
      {save.error && <ErrorText>{reasonOf(save.error)}</ErrorText>}
      <div className="flex flex-wrap items-center justify-end gap-2">
        <p className="me-auto text-fg-3 text-meta">{t('modelParametersHint')}</p>
        <Button size="small" onClick={onDone}>
          {t('cancel')}
        </Button>
        <Button size="small" type="submit" look="solid" disabled={save.isPending}>
          {t('providerSave')}
        </Button>
      </div>
    </form>
  )
}
