import { type FormEvent, useId, useState } from 'react'
import { useSkills } from '@/api/queries'
import type { DialogProps } from '@/app/dialogTable'
import { Button } from '@/components/ui/Button'
import { Dialog, DialogActions } from '@/components/ui/Dialog'
import { ErrorText } from '@/components/ui/ErrorText'
import { Field } from '@/components/ui/Field'
import { Input, TextArea } from '@/components/ui/Input'
import { create } from '@/features/editor/actions'
import { focusText } from '@/features/editor/focusText'
import { skillNamed } from '@/features/inspector/names'
import { count } from '@/lib/format'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { createsSkills, ROOTS } from '@/lib/roots'
import { openFile } from '@/stores/ui'
import { DESCRIPTION_LIMIT, lengthOf, lineOf } from './check'
import { changeSkillDraft, clearSkillDraft, useSkillDraft } from './draft'
import { skillText } from './template'

const ROOT = ROOTS.find(createsSkills)

/** Describes a new skill, creates its SKILL.md and opens it. */
export default function NewSkill({ open, onOpenChange }: DialogProps) {
  const t = useT()
  const formId = useId()
  const draft = useSkillDraft(store => store.draft)
  const [problem, setProblem] = useState<string | null>(null)
  const skills = useSkills().data
  const name = draft.name.trim()
  const file = ROOT ? skillNamed(ROOT, name) : null
  const taken = skills?.some(({ location }) => location === `${file}`)
  const badName = name === '' ? null : !file ? t('skillNameBad') : taken ? t('skillNameTaken') : null
  const length = lengthOf(lineOf(draft.description))
  const tooLong = length > DESCRIPTION_LIMIT
  const change = (patch: Partial<typeof draft>) => {
    changeSkillDraft(patch)
    setProblem(null)
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!file) return
    const result = await create(file, skillText({ ...draft, name }))
    if (result.kind === 'failed') return setProblem(t('notDone', { reason: result.reason }))
    if (result.kind === 'exists') return setProblem(t('skillNameTaken'))
    clearSkillDraft()
    onOpenChange(false)
    openFile(file)
    focusText(file)
  }
  return (
    <Dialog size="wide" open={open} onOpenChange={onOpenChange} title={t('newSkill')}>
      <form id={formId} onSubmit={submit} className="space-y-3">
        <Field label={t('skillName')} hint={t('skillNameHint')} error={badName}>
          {described => (
            <Input
              mono
              value={draft.name}
              onChange={event => change({ name: event.target.value })}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              placeholder="weekly-report"
              aria-invalid={badName !== null}
              {...described}
            />
          )}
        </Field>
        <Field
          label={t('skillDescription')}
          hint={t('skillDescriptionHint')}
          end={`${count(length)} / ${count(DESCRIPTION_LIMIT)}`}
          error={tooLong ? t('skillDescriptionLong', { n: DESCRIPTION_LIMIT }) : null}
        >
          {described => (
            <TextArea
              rows={3}
              value={draft.description}
              onChange={event => change({ description: event.target.value })}
              aria-invalid={tooLong}
              {...described}
            />
          )}
        </Field>
        <Field label={t('skillInstructions')} hint={t('skillInstructionsHint')} error={null}>
          {described => (
            <TextArea
              rows={6}
              value={draft.instructions}
              onChange={event => change({ instructions: event.target.value })}
              {...described}
            />
          )}
        </Field>
      </form>
      <DialogActions>
        {problem && <ErrorText className="flex-1">{problem}</ErrorText>}
        <Button
          type="submit"
          form={formId}
          look="solid"
          disabled={!file || badName !== null || length === 0 || tooLong}
        >
          {t('skillCreate')}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
