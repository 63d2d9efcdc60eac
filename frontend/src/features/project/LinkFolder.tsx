import { type FormEvent, useRef, useState } from 'react'
import type { FolderToLink, Project } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { DialogActions } from '@/components/ui/Dialog'
import { ErrorText } from '@/components/ui/ErrorText'
import { Field } from '@/components/ui/Field'
import { Input } from '@/components/ui/Input'
import { useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { link, lookAt } from './manage'
import { ProjectFields } from './ProjectFields'
import { useFirstField } from './useFirstField'
import { useProjectForm } from './useProjectForm'

interface Props {
  /** The linked project that gets another folder; null for a new one. */
  project: Project | null
  onBack: () => void
  onLinked: (project: Project) => void
}

/** Links a folder of the machine that the server runs on: the person first sees what it is and what it means. */
export function LinkFolder({ project, onBack, onLinked }: Props) {
  const t = useT()
  const [path, setPath] = useState(project?.path ?? '')
  const [folder, setFolder] = useState<FolderToLink | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const form = useProjectForm({ name: '', description: '' }, null)
  const box = useRef<HTMLFormElement>(null)
  const shown = useRef<HTMLParagraphElement>(null)
  useFirstField(box)
  const toField = (part: string) => box.current?.querySelector<HTMLElement>(`[data-field=${part}]`)?.focus()

  const look = async () => {
    const found = await lookAt(path.trim(), project?.id)
    setFolder(found)
    form.suggestName(found.path.slice(found.path.lastIndexOf('/') + 1))
    requestAnimationFrame(() => shown.current?.focus())
  }
  const confirm = async (found: FolderToLink) => {
    if (!project && form.isTaken()) return toField('name')
    onLinked(await link(found, project ? { project_id: project.id } : form.values))
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setFault(null)
    setBusy(true)
    try {
      await (folder ? confirm(folder) : look())
    } catch (error) {
      const part = form.refused(error, 'files')
      if (part === 'files') {
        setFault(reasonOf(error))
        setFolder(null)
        requestAnimationFrame(() => toField('path'))
      } else toField(part)
    }
    setBusy(false)
  }
  return (
    <form ref={box} onSubmit={event => void submit(event)} className="space-y-3">
      <Field label={t('linkPath')} hint={t('linkPathHint')} error={fault}>
        {described => (
          <Input
            {...described}
            data-field="path"
            className="font-mono"
            spellCheck={false}
            autoCapitalize="off"
            autoComplete="off"
            placeholder="/data/project"
            value={path}
            aria-invalid={fault !== null}
            onChange={event => {
              setPath(event.target.value)
              setFolder(null)
              setFault(null)
            }}
          />
        )}
      </Field>
      {folder && (
        <>
          <section aria-label={t('linkShown')} className="space-y-1.5 rounded-lg border p-2.5 text-[13px]">
            <p ref={shown} tabIndex={-1} className="font-mono outline-none [overflow-wrap:anywhere]">
              {folder.path}
            </p>
            <p className="text-fg-2">
              {t(folder.more_entries ? 'linkManyEntries' : 'linkEntries', {
                ...{ n: folder.entries, owner: folder.owner },
              })}
            </p>
            {folder.resolved && <p className="text-fg-2">{t('linkResolved')}</p>}
            {!folder.writable && <p className="text-warn">{t('linkReadOnly')}</p>}
            <p>{t('linkMeans')}</p>
          </section>
          {!project && <ProjectFields form={form} nameHint={t('projectNameHint')} />}
        </>
      )}
      <DialogActions>
        {form.problemOf('files') && !fault && (
          <ErrorText className="flex-1">{form.problemOf('files')}</ErrorText>
        )}
        <Button onClick={onBack}>{t('cancel')}</Button>
        <Button
          type="submit"
          look="solid"
          disabled={busy || path.trim() === '' || (folder !== null && !project && form.values.name === '')}
        >
          {t(folder ? 'linkThis' : 'linkLook')}
        </Button>
      </DialogActions>
    </form>
  )
}
