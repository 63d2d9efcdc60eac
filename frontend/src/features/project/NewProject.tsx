import { FolderSymlink, FolderUp, X } from 'lucide-react'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { ApiError } from '@/api/client'
import type { Project } from '@/api/types'
import { DropZone } from '@/components/DropZone'
import { Button, IconButton } from '@/components/ui/Button'
import { DialogActions } from '@/components/ui/Dialog'
import { ErrorText } from '@/components/ui/ErrorText'
import { fileSize } from '@/lib/format'
import { type Translate, useT } from '@/lib/i18n'
import { FolderButton } from './FolderButton'
import {
  badPathIn,
  type ChosenFolder,
  chosenFolder,
  droppedFolders,
  MOST_BYTES,
  MOST_FILES,
  readFolder,
} from './folder'
import { create } from './manage'
import { ProjectFields } from './ProjectFields'
import { UploadProgress } from './UploadProgress'
import { useFirstField } from './useFirstField'
import { useProjectForm } from './useProjectForm'
import { useUpload } from './useUpload'

interface Props {
  /** Links a folder of the machine instead; null if nobody may. */
  onLink: (() => void) | null
  /** The folders that were dropped on the list; null if nothing was. */
  dropped: readonly FileSystemDirectoryEntry[] | null
  /** Whether an upload is under way. */
  onBusy: (busy: boolean) => void
  onBack: () => void
  onCreated: (project: Project) => void
}

/** Creates a project: empty, or of the files of a folder. */
export function NewProject({ onLink, dropped, onBusy, onBack, onCreated }: Props) {
  const t = useT()
  const form = useProjectForm({ name: '', description: '' }, null)
  const [folder, setFolder] = useState<ChosenFolder | null>(null)
  /** Number of files of a dropped folder that are read so far. */
  const [reading, setReading] = useState<number | null>(null)
  const upload = useUpload(onBusy)
  const box = useRef<HTMLFormElement>(null)
  useFirstField(box)

  const refuse = (words: string) => form.setProblem({ part: 'files', words })
  const take = (chosen: ChosenFolder | null) => {
    setFolder(chosen)
    const words = faultOf(chosen, t)
    if (words === null) form.setProblem(null)
    else refuse(words)
    if (chosen) form.suggestName(chosen.name)
  }
  const drop = async (folders: readonly FileSystemDirectoryEntry[]) => {
    const [only] = folders
    if (!only || folders.length > 1) return refuse(t('projectOneFolder'))
    setReading(0)
    try {
      take(await readFolder(only, setReading))
    } catch (error) {
      refuse(t('projectUnreadable', { reason: error instanceof Error ? error.message : String(error) }))
    }
    setReading(null)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was dropped is read once
  useEffect(() => {
    if (dropped) void drop(dropped)
  }, [])

  const toField = (part: string) => box.current?.querySelector<HTMLElement>(`[data-field=${part}]`)?.focus()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (form.isTaken()) return toField('name')
    form.setProblem(null)
    try {
      onCreated(folder ? await upload.run(form.values, folder) : await create(form.values))
    } catch (error) {
      const code = error instanceof ApiError ? error.code : null
      if (folder && (code === 'cancelled' || code === 'no_answer'))
        refuse(t(code === 'cancelled' ? 'projectCancelled' : 'projectUploadBroke'))
      else return toField(form.refused(error, 'files'))
      toField('files')
    }
  }
  const filesError = form.problemOf('files')
  const blocked =
    form.values.name === '' || reading !== null || (folder !== null && faultOf(folder, t) !== null)
  const busy = upload.progress !== null
  return (
    <DropZone
      words={t('projectDropFolder')}
      onFiles={busy ? null : (_, transfer) => void drop(droppedFolders(transfer))}
    >
      <form ref={box} onSubmit={event => void submit(event)} className="space-y-3">
        <ProjectFields form={form} nameHint={t('projectNameHint')} disabled={busy} />
        <fieldset className="text-[13px]">
          <legend className="mb-1 font-medium">{t('projectFiles')}</legend>
          <div className="flex flex-wrap items-center gap-2 rounded-lg border border-dashed p-2.5">
            <FolderUp size={16} aria-hidden className="shrink-0 text-fg-3" />
            <p role="status" className="min-w-0 flex-1 basis-40 [overflow-wrap:anywhere]">
              {reading !== null
                ? t('projectReading', { n: reading })
                : folder
                  ? t('projectFolderChosen', {
                      ...{ name: folder.name, n: folder.files.length, size: fileSize(folder.bytes) },
                    })
                  : t('projectWithoutFolder')}
            </p>
            {!busy && (
              <FolderButton
                label={t(folder ? 'projectChangeFolder' : 'projectChooseFolder')}
                onFiles={files => take(chosenFolder(files))}
              />
            )}
            {folder && !busy && (
              <IconButton
                label={t('projectWithoutFolder')}
                size="smallIcon"
                onClick={() => {
                  setFolder(null)
                  form.setProblem(null)
                  toField('files')
                }}
              >
                <X size={14} aria-hidden />
              </IconButton>
            )}
          </div>
          {filesError ? (
            <ErrorText className="mt-1">{filesError}</ErrorText>
          ) : (
            <p className="mt-1 text-fg-3 text-small">{t('projectFilesHint')}</p>
          )}
        </fieldset>
        {onLink && !busy && !folder && (
          <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-[13px] text-fg-2">
            <span className="min-w-0 flex-1 basis-60">{t('linkInstead')}</span>
            <Button size="small" onClick={onLink}>
              <FolderSymlink size={14} aria-hidden />
              {t('linkFolder')}
            </Button>
          </p>
        )}
        {upload.progress && folder && <UploadProgress folder={folder} progress={upload.progress} />}
        <DialogActions>
          {busy ? (
            <Button autoFocus disabled={!upload.cancel} onClick={() => upload.cancel?.()}>
              {t('projectCancelUpload')}
            </Button>
          ) : (
            <>
              <Button onClick={onBack}>{t('cancel')}</Button>
              <Button type="submit" look="solid" disabled={blocked}>
                {t(folder ? 'projectUpload' : 'projectCreate')}
              </Button>
            </>
          )}
        </DialogActions>
      </form>
    </DropZone>
  )
}

/** Why a folder cannot be uploaded, or null. */
function faultOf(folder: ChosenFolder | null, t: Translate): string | null {
  if (!folder || folder.files.length === 0) return t('projectNoFiles')
  const { files, bytes } = folder
  if (files.length > MOST_FILES) return t('projectTooManyFiles', { most: MOST_FILES })
  if (bytes > MOST_BYTES) return t('projectTooLarge', { size: fileSize(bytes), most: fileSize(MOST_BYTES) })
  const path = badPathIn(folder)
  return path === null ? null : t('projectBadPath', { path })
}
