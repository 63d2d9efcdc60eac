import { FolderCode, RotateCcw } from 'lucide-react'
import { useModels, useProjects } from '@/api/queries'
import { Button, IconButton } from '@/components/ui/Button'
import { Field } from '@/components/ui/Field'
import { Input, TextArea } from '@/components/ui/Input'
import { Menu } from '@/components/ui/Menu'
import { Select } from '@/components/ui/Select'
import { canThink, nameOf } from '@/features/model/choice'
import PlaceList from '@/features/project/PlaceList'
import { placeName } from '@/features/project/place'
import { count } from '@/lib/format'
import { type Key, useT } from '@/lib/i18n'
import type { Edits } from './useEdits'
import { type Field as FieldName, LONGEST_PROMPT, lengthOf } from './values'

interface Props extends Pick<Edits, 'values' | 'problemOf' | 'edit'> {
  running: boolean
  /** Stands in the list while there is no title. */
  begins: string | undefined
}

/** A field for each value, with a button that resets it. */
export function ConversationFields({ values, problemOf, edit, running, begins }: Props) {
  const t = useT()
  const models = useModels().data
  const projects = useProjects().data
  const thinks = models && canThink(models, { model: values.model })
  const place = placeName(values.project_id || null, t, projects)
  const long = lengthOf(values.system_prompt)
  const common = (field: FieldName, label: Key, hint: Key) => ({
    label: t(label),
    hint: t(hint),
    error: problemOf(field),
    action: values[field] !== '' && !(running && field === 'project_id') && (
      <IconButton
        size="smallIcon"
        label={t('resetValue', { name: t(label) })}
        onClick={event => {
          // The button goes away with the value.
          const group = event.currentTarget.closest<HTMLElement>('[data-row]')
          group?.querySelector<HTMLElement>('[data-field]')?.focus()
          edit(field, '')
        }}
      >
        <RotateCcw size={13} aria-hidden />
      </IconButton>
    ),
  })
  const typing = (field: FieldName) => ({
    'data-field': field,
    'aria-invalid': problemOf(field) !== null,
    value: values[field],
    onChange: ({ target }: { target: { value: string } }) => edit(field, target.value),
  })
  const options = [
    { value: '', words: t('conversationModelDefault', { name: models?.current.label || t('model') }) },
    ...(models?.available ?? []).map(model => ({ value: model.id, words: nameOf(model) })),
  ]
  if (!options.some(({ value }) => value === values.model))
    options.push({ value: values.model, words: t('conversationModelGone', { id: values.model }) })
  return (
    <>
      <div data-row>
        <Field {...common('title', 'conversationTitle', 'conversationTitleHint')}>
          {described => <Input {...described} {...typing('title')} placeholder={begins || t('untitled')} />}
        </Field>
      </div>
      <div data-row>
        <Field
          {...common('system_prompt', 'conversationInstructions', 'conversationInstructionsHint')}
          end={long > LONGEST_PROMPT * 0.8 ? `${count(long)} / ${count(LONGEST_PROMPT)}` : undefined}
        >
          {described => <TextArea rows={4} {...described} {...typing('system_prompt')} />}
        </Field>
      </div>
      <div className="grid gap-3 sm:grid-cols-2">
        <div data-row>
          <Field {...common('model', 'model', 'conversationModelHint')}>
            {(described, labelId) => (
              <Select
                {...described}
                aria-labelledby={labelId}
                aria-invalid={problemOf('model') !== null}
                data-field="model"
                className="h-9! w-full"
                value={values.model}
                options={options}
                onChange={id => edit('model', id)}
              />
            )}
          </Field>
        </div>
        <div data-row>
          <Field
            {...common(
              'thinking_enabled',
              'parameterThinking',
              thinks === false ? 'thinkingUnavailable' : 'thinkingHint',
            )}
          >
            {(described, labelId) => (
              <Select
                {...described}
                aria-labelledby={labelId}
                data-field="thinking_enabled"
                className="h-9! w-full"
                disabled={thinks === false && values.thinking_enabled === ''}
                value={values.thinking_enabled}
                options={[
                  { value: '', words: t('valueNotSent') },
                  { value: 'on', words: t('parameterThinkingOn') },
                  { value: 'off', words: t('parameterThinkingOff') },
                ]}
                onChange={chosen => edit('thinking_enabled', chosen)}
              />
            )}
          </Field>
        </div>
        <div data-row>
          <Field {...common('temperature', 'parameterTemperature', 'temperatureHint')}>
            {described => (
              <Input
                inputMode="decimal"
                {...described}
                {...typing('temperature')}
                placeholder={t('valueNotSent')}
              />
            )}
          </Field>
        </div>
        <div data-row>
          <Field {...common('max_tokens', 'maxTokens', 'maxTokensHint')}>
            {described => (
              <Input
                inputMode="numeric"
                {...described}
                {...typing('max_tokens')}
                placeholder={t('valueNotSent')}
              />
            )}
          </Field>
        </div>
        <div data-row>
          <Field {...common('project_id', 'worksInLabel', running ? 'worksInWait' : 'worksInHint')}>
            {described => (
              <Menu
                align="start"
                opens="listbox"
                trigger={
                  <Button
                    aria-describedby={described['aria-describedby']}
                    aria-label={t('worksIn', { place })}
                    data-field="project_id"
                    className="w-full justify-start"
                    disabled={running}
                  >
                    <FolderCode size={14} aria-hidden className="shrink-0" />
                    <span className="truncate">{place}</span>
                  </Button>
                }
              >
                <PlaceList
                  projectId={values.project_id || null}
                  onChoose={chosen => edit('project_id', chosen ?? '')}
                />
              </Menu>
            )}
          </Field>
        </div>
      </div>
    </>
  )
}
