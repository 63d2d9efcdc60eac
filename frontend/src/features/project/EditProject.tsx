import { type FormEvent, useRef } from 'react'
import type { Project } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { DialogActions } from '@/components/ui/Dialog'
import { ErrorText } from '@/components/ui/ErrorText'
import { useT } from '@/lib/i18n'
import { change } from './manage'
import { ProjectFields } from './ProjectFields'
import { useFirstField } from './useFirstField'
import { useProjectForm } from './useProjectForm'

interface Props {
  project: Project
  onBack: () => void
  onSaved: (project: Project) => void
}

/** The name and the description of a project. */
export function EditProject({ project, onBack, onSaved }: Props) {
  const t = useT()
  const form = useProjectForm(project, project.id)
  const box = useRef<HTMLFormElement>(null)
  useFirstField(box)
  const changed = form.values.name !== project.name || form.values.description !== project.description
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (form.isTaken()) return box.current?.querySelector<HTMLElement>('[data-field=name]')?.focus()
    try {
      onSaved(await change(project.id, form.values))
    } catch (error) {
      const part = form.refused(error, 'files')
      box.current?.querySelector<HTMLElement>(`[data-field=${part}]`)?.focus()
    }
  }
  return (
    <form ref={box} onSubmit={event => void submit(event)} className="space-y-3">
      <ProjectFields form={form} nameHint={t('projectNameKeeps')} />
      <DialogActions>
        {form.problemOf('files') && <ErrorText className="flex-1">{form.problemOf('files')}</ErrorText>}
        <Button onClick={onBack}>{t('cancel')}</Button>
        <Button type="submit" look="solid" disabled={form.values.name === '' || !changed}>
          {t('save')}
        </Button>
      </DialogActions>
    </form>
  )
}
