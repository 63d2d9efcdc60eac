import { useId } from 'react'
import { Select } from '@/components/ui/Select'
import { useT } from '@/lib/i18n'
import { type ApiForm, apiForm } from './apiForm'

interface Props {
  /** Null: the address tells it. */
  value: ApiForm | null
  onChange: (form: ApiForm | null) => void
}

/** Chooses the API in which a provider is asked. */
export function ApiChoice({ value, onChange }: Props) {
  const t = useT()
  const id = useId()
  return (
    <p className="flex flex-wrap items-center gap-2">
      <span id={id} className="text-fg-2">
        {t('ownProviderApi')}
      </span>
      <Select
        aria-labelledby={id}
        value={value ?? ''}
        options={[
          { value: '', words: t('ownProviderApiAuto') },
          { value: 'openai', words: 'OpenAI Chat Completions' },
          { value: 'responses', words: 'OpenAI Responses' },
          { value: 'anthropic', words: 'Anthropic Messages' },
        ]}
        onChange={chosen => onChange(apiForm(chosen))}
      />
    </p>
  )
}
