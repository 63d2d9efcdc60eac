import { type KeyboardEvent, useState } from 'react'
import type { Setting } from '@/api/types'
import { Input } from '@/components/ui/Input'
import { Select } from '@/components/ui/Select'
import { useT } from '@/lib/i18n'
import { useComposition } from '@/lib/ime'
import { choiceOf } from './config'

interface Props {
  setting: Setting
  labelledBy: string
  disabled: boolean
  onSet: (value: unknown) => void
}

/** The field for a value: a change of a text is sent with Enter or when the field is left, others at once. */
export function SettingControl({ setting, labelledBy, disabled, onSet }: Props) {
  const t = useT()
  const { key, kind, value } = setting
  if (kind === 'boolean') {
    return (
      <Select
        aria-labelledby={labelledBy}
        disabled={disabled}
        value={`${value}`}
        options={[
          { value: 'true', words: t('choiceYes') },
          { value: 'false', words: t('choiceNo') },
        ]}
        onChange={chosen => onSet(chosen === 'true')}
      />
    )
  }
  if (kind === 'choice') {
    const unset = value === null ? [{ value: '', words: t('choiceUnset') }] : []
    return (
      <Select
        aria-labelledby={labelledBy}
        disabled={disabled}
        value={typeof value === 'string' ? value : ''}
        options={[
          ...unset,
          ...(setting.choices ?? []).map(choice => ({ value: choice, words: choiceOf(key, choice, t) })),
        ]}
        onChange={chosen => onSet(chosen === '' ? null : chosen)}
      />
    )
  }
  return <TextControl {...{ setting, labelledBy, disabled, onSet }} />
}

const written = (value: unknown): string =>
  Array.isArray(value) ? value.join(', ') : value == null ? '' : `${value}`

/** What a person typed, as a value: null for nothing. */
function parsed({ kind }: Setting, text: string): unknown {
  const trimmed = text.trim()
  if (trimmed === '') return null
  if (kind === 'number') return Number(trimmed)
  if (kind === 'list') return trimmed.split(',').flatMap(entry => entry.trim() || [])
  return trimmed
}

function TextControl({ setting, labelledBy, disabled, onSet }: Props) {
  const t = useT()
  const value = written(setting.value)
  const [text, setText] = useState(value)
  // A change from elsewhere, or of what was sent, is shown in the same field, which keeps the focus and what was typed since.
  const [shown, setShown] = useState(value)
  const [sent, setSent] = useState(value)
  if (value !== shown) {
    setShown(value)
    if (text === shown || text === sent) setText(value)
  }
  const number = setting.kind === 'number'
  const composition = useComposition()
  const commit = () => {
    if (text.trim() === value) return
    setSent(text)
    onSet(parsed(setting, text))
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && !composition.owns(event)) commit()
  }
  return (
    <Input
      size="small"
      mono={!number}
      type={number ? 'number' : 'text'}
      {...(number && {
        min: setting.minimum ?? undefined,
        max: setting.maximum ?? undefined,
        step: setting.whole ? 1 : 'any',
      })}
      className={number ? 'w-28!' : 'w-64!'}
      aria-labelledby={labelledBy}
      disabled={disabled}
      placeholder={setting.kind === 'list' ? t('listPlaceholder') : written(setting.default)}
      value={text}
      onChange={event => setText(event.target.value)}
      onBlur={commit}
      onKeyDown={onKeyDown}
      {...composition.handlers}
    />
  )
}
