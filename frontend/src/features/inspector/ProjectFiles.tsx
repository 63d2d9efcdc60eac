import { FilePlus2, FolderPlus, Upload } from 'lucide-react'
import { useMemo, useRef, useState } from 'react'
import { useShallow } from 'zustand/react/shallow'
import { DropZone } from '@/components/DropZone'
import { FilesButton } from '@/components/FilesButton'
import { onDemand } from '@/components/onDemand'
import { IconButton } from '@/components/ui/Button'
import { Segmented } from '@/components/ui/Segmented'
import { create, remove, rename } from '@/features/editor/actions'
import { isDirty } from '@/features/editor/buffer'
import { focusText } from '@/features/editor/focusText'
import { setProjectSearch, useProjectSearch } from '@/features/notes/search'
import { droppedFolders } from '@/features/project/folder'
import { useAccess } from '@/features/project/role'
import { useT } from '@/lib/i18n'
import { FileRef, type ProjectRoot } from '@/lib/roots'
import { useBuffers } from '@/stores/buffers'
import { setFold } from '@/stores/folds'
import { openFile, useUi } from '@/stores/ui'
import { Files } from './Files'
import type { FolderActions } from './FolderMenu'
import { deleteFolder, makeFolder, renameFolder } from './folders'
import { SearchField } from './SearchField'
import { useNameSearch } from './useNameSearch'
import { foldId } from './useTree'

const FoundInProject = onDemand(() => import('./FoundInProject'))
const FoundNames = onDemand(() => import('./FoundNames'))
const FoundPassages = onDemand(() => import('./FoundPassages'))
const NewFile = onDemand(() => import('./NewFile'))
const NewFolder = onDemand(() => import('./NewFolder'))
const RenameFile = onDemand(() => import('./RenameFile'))

/** Loaded when something is dropped: what was dropped has been read before. */
const loadUpload = () => import('./projectUpload')

/** The dialog that asks for a name. */
type Naming =
  | { kind: 'file' | 'folder'; below: string }
  | { kind: 'rename' | 'renameFolder'; file: FileRef }
  | null

const noProblem = () => null

/** The files of one project: to find, open, create, upload, move and delete. */
export function ProjectFiles({ root }: { root: ProjectRoot }) {
  const t = useT()
  const readOnly = useAccess(root) !== 'write'
  const file = useUi(ui => ui.file)
  const search = useProjectSearch(root)
  const names = useNameSearch(root, search.inText ? '' : search.text)
  const [naming, setNaming] = useState<Naming>(null)
  const input = useRef<HTMLInputElement>(null)
  /** The folder that the next upload goes to. */
  const target = useRef('')
  const dirtyPaths = useBuffers(
    useShallow(s =>
      Object.entries(s.files).flatMap(([path, f]) => (f.phase === 'open' && isDirty(f.buffer) ? [path] : [])),
    ),
  )
  const dirty = useMemo(() => new Set(dirtyPaths), [dirtyPaths])
  const begins = (folder: FileRef) => `${folder.path}/`
  const folderActions: FolderActions = {
    onNewFile: folder => setNaming({ kind: 'file', below: begins(folder) }),
    onNewFolder: folder => setNaming({ kind: 'folder', below: begins(folder) }),
    onUpload: folder => {
      target.current = folder.path
      input.current?.click()
    },
    onRenameFolder: file => setNaming({ kind: 'renameFolder', file }),
    onDeleteFolder: folder => void deleteFolder(folder),
  }
  const onClosed = (open: boolean) => open || setNaming(null)
  const upload = async (files: File[], folders: readonly FileSystemDirectoryEntry[], below: string) => {
    const { filesOf, uploadToProject } = await loadUpload()
    await uploadToProject(root, await filesOf(files, folders), below)
    if (below) setFold(foldId(`${root}/${below}`), true)
  }
  /** The folder of the tree that something was dropped on; empty for the root. */
  const folderAt = (target: Element): string => {
    const path = target.closest('[data-drop]')?.getAttribute('data-drop') ?? ''
    return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : ''
  }
  return (
    <>
      <div className="flex items-center gap-1.5 px-2 pb-1.5">
        <SearchField
          text={search.text}
          inText={search.inText}
          nameLabel={t('findFile')}
          field={names.field}
          onChange={(text, inText) => setProjectSearch(root, { text, inText })}
        />
        {!readOnly && (
          <>
            <IconButton
              label={t('newFile')}
              size="fieldIcon"
              onClick={() => setNaming({ kind: 'file', below: '' })}
            >
              <FilePlus2 size={15} aria-hidden />
            </IconButton>
            <IconButton
              label={t('newFolder')}
              size="fieldIcon"
              onClick={() => setNaming({ kind: 'folder', below: '' })}
            >
              <FolderPlus size={15} aria-hidden />
            </IconButton>
            <FilesButton
              label={t('uploadAnyFiles')}
              icon={<Upload size={15} aria-hidden />}
              size="fieldIcon"
              onFiles={files => void upload(files, [], '')}
            />
            <input
              type="file"
              ref={input}
              multiple
              hidden
              onChange={event => {
                void upload([...(event.target.files ?? [])], [], target.current)
                event.target.value = ''
              }}
            />
          </>
        )}
      </div>
      <DropZone
        words={t('uploadAnyHere', { name: FileRef.of(root, '').shown.replace(/\/$/, '') })}
        onFiles={
          readOnly
            ? null
            : (files, transfer, target) => void upload(files, droppedFolders(transfer), folderAt(target))
        }
      >
        {search.inText ? (
          <>
            <div className="flex px-2 pb-1">
              <Segmented
                label={t('findHow')}
                value={search.byMeaning ? 'meaning' : 'exact'}
                options={[
                  { value: 'exact', words: t('findExact') },
                  { value: 'meaning', words: t('findByMeaning') },
                ]}
                onChange={how => setProjectSearch(root, { byMeaning: how === 'meaning' })}
              />
            </div>
            {search.byMeaning ? (
              <FoundPassages root={root} text={search.text} />
            ) : (
              <FoundInProject root={root} text={search.text} />
            )}
          </>
        ) : search.text.trim() !== '' ? (
          <FoundNames search={names} />
        ) : (
          <Files
            root={root}
            filter=""
            problemOf={noProblem}
            current={file && `${file}`}
            dirty={dirty}
            onOpen={openFile}
            actions={
              readOnly
                ? null
                : {
                    onRename: file => setNaming({ kind: 'rename', file }),
                    onDelete: file => void remove(file),
                  }
            }
            folderActions={readOnly ? null : folderActions}
          />
        )}
      </DropZone>
      {naming?.kind === 'file' && (
        <NewFile
          open
          root={root}
          initial={naming.below}
          onOpenChange={onClosed}
          onCreate={async file => {
            const result = await create(file, '')
            if (result.kind === 'created') {
              openFile(file)
              focusText(file)
            }
            return result
          }}
        />
      )}
      {naming?.kind === 'folder' && (
        <NewFolder root={root} initial={naming.below} onOpenChange={onClosed} onCreate={makeFolder} />
      )}
      {(naming?.kind === 'rename' || naming?.kind === 'renameFolder') && (
        <RenameFile
          file={naming.file}
          onOpenChange={onClosed}
          onRename={to =>
            naming.kind === 'rename' ? rename(naming.file, to) : renameFolder(naming.file, to)
          }
        />
      )}
    </>
  )
}
