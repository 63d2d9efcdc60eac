import { FolderCode } from 'lucide-react'
import { useProjects } from '@/api/projectQueries'
import { useModels } from '@/api/queries'
import { Button } from '@/components/ui/Button'
import { Input, TextArea } from '@/components/ui/Input'
import { Menu } from '@/components/ui/Menu'
import { Select } from '@/components/ui/Select'
import { canThink, nameOf } from '@/features/model/choice'
import PlaceList from '@/features/project/PlaceList'
import { placeName } from '@/features/project/place'
import { count } from '@/lib/format'
import { useT } from '@/lib/i18n'
import type { Edits } from './useEdits'
import { ValueRow } from './ValueRow'
import { type Field, LONGEST_PROMPT, lengthOf } from './values'

interface Props {
  form: Pick<Edits, 'values' | 'problemOf' | 'edit'>
  running: boolean
  /** Stands in the list while there is no title. */
  begins: string | undefined
}

const SELECT = 'h-9! w-full max-md:h-11! pointer-coarse:h-11!'

/** A field for each value. */
export function ConversationFields({ form, running, begins }: Props) {
  const { values, problemOf, edit } = form
  const t = useT()
  const models = useModels().data
  const thinks = models && canThink(models, { model: values.model })
  const place = placeName(values.project_id || null, t, useProjects().data)
  const long = lengthOf(values.system_prompt)
  const typing = (field: Field) => ({
    'data-field': field,
    'aria-invalid': problemOf(field) !== null,
    value: values[field],
    onChange: ({ target }: { target: { value: string } }) => edit(field, target.value),
  })
  const choosing = (field: Field) => ({
    'data-field': field,
    'aria-invalid': problemOf(field) !== null,
    className: SELECT,
    value: values[field],
    onChange: (value: string) => edit(field, value),
  })
  const options = [
    { value: '', words: t('conversationModelDefault', { name: models?.current.label || t('model') }) },
    ...(models?.available ?? []).map(model => ({ value: model.id, words: nameOf(model) })),
  ]
  if (!options.some(({ value }) => value === values.model))
    options.push({ value: values.model, words: t('conversationModelGone', { id: values.model }) })
  const thinking = [
    { value: '', words: t('valueNotSent') },
    { value: 'on', words: t('parameterThinkingOn') },
    { value: 'off', words: t('parameterThinkingOff') },
  ]
  const notSent = t('valueNotSent')
  return (
    <>
      <ValueRow {...form} field="title" label="conversationTitle" hint="conversationTitleHint">
        {described => <Input {...described} {...typing('title')} placeholder={begins || t('untitled')} />}
      </ValueRow>
      <ValueRow
        {...form}
        field="system_prompt"
        label="conversationInstructions"
        hint="conversationInstructionsHint"
        end={long > LONGEST_PROMPT * 0.8 ? `${count(long)} / ${count(LONGEST_PROMPT)}` : undefined}
      >
        {described => <TextArea rows={4} {...described} {...typing('system_prompt')} />}
      </ValueRow>
      <div className="grid gap-3 sm:grid-cols-2">
        <ValueRow {...form} field="model" label="model" hint="conversationModelHint">
          {(described, labelId) => (
            <Select {...described} {...choosing('model')} aria-labelledby={labelId} options={options} />
          )}
        </ValueRow>
        <ValueRow
          {...form}
          field="thinking_enabled"
          label="parameterThinking"
          hint={thinks === false ? 'thinkingUnavailable' : 'thinkingHint'}
        >
          {(described, labelId) => (
            <Select
              {...described}
              {...choosing('thinking_enabled')}
              aria-labelledby={labelId}
              disabled={thinks === false && values.thinking_enabled === ''}
              options={thinking}
            />
          )}
        </ValueRow>
        <ValueRow {...form} field="temperature" label="parameterTemperature" hint="temperatureHint">
          {described => (
            <Input inputMode="decimal" {...described} {...typing('temperature')} placeholder={notSent} />
          )}
        </ValueRow>
        <ValueRow {...form} field="max_tokens" label="maxTokens" hint="maxTokensHint">
          {described => (
            <Input inputMode="numeric" {...described} {...typing('max_tokens')} placeholder={notSent} />
          )}
        </ValueRow>
        <ValueRow
          {...form}
          field="project_id"
          label="worksInLabel"
          hint={running ? 'worksInWait' : 'worksInHint'}
          locked={running}
        >
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
        </ValueRow>
      </div>
    </>
  )
}
