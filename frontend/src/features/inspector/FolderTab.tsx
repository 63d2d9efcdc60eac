import { FilePlus2, Upload } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useShallow } from 'zustand/react/shallow'
import { useIndex } from '@/api/queries'
import type { FileEntry } from '@/api/types'
import { CommandIconButton } from '@/components/CommandButton'
import { DropZone } from '@/components/DropZone'
import { FilesButton } from '@/components/FilesButton'
import { onDemand } from '@/components/onDemand'
import { IconButton } from '@/components/ui/Button'
import { create, remove, rename } from '@/features/editor/actions'
import { isDirty } from '@/features/editor/buffer'
import { focusText } from '@/features/editor/focusText'
import { useSay, useT } from '@/lib/i18n'
import { createsSkills, type FileRef, isSearchFolder, isUploadFolder, type Root } from '@/lib/roots'
import { problemIn, unreadableIn } from '@/lib/server'
import { useBuffers } from '@/stores/buffers'
import { openFile, useUi } from '@/stores/ui'
import { Files } from './Files'
import { isSkill, rootWords } from './names'
import { SearchField } from './SearchField'
import { removeSkill, renameSkill } from './skill'
import { upload } from './upload'

const IndexLine = onDemand(() => import('@/features/retrieval/IndexLine'), NoIndexLine)
const FoundInFiles = onDemand(() => import('./FoundInFiles'))
const NewFile = onDemand(() => import('./NewFile'))
const RenameFile = onDemand(() => import('./RenameFile'))

/** Reserves the space of the index line until the server has reported the index. */
function NoIndexLine() {
  return <div aria-hidden className="h-[30px] shrink-0" />
}

const onDelete = (file: FileRef): void => void (isSkill(file) ? removeSkill(file) : remove(file))

/** The files of one root: to find, create, upload, rename and delete. */
export function FolderTab({ root }: { root: Root }) {
  const t = useT()
  const say = useSay()
  const onFiles = isUploadFolder(root) ? (files: File[]) => void upload(root, files) : null
  const file = useUi(ui => ui.file)
  const index = useIndex().data
  const indexed = index?.folders.find(folder => folder.folder === root)
  // In a searched folder, the problem of a file is that the index cannot read it; a readable PDF has none.
  const problemOf = useMemo(() => {
    if (!indexed) return (file: FileEntry) => problemIn(say, file)
    const faults = new Map(
      indexed.unreadable.map(file => [file.path, unreadableIn(say, file) ?? file.reason]),
    )
    return (file: FileEntry) => faults.get(file.path) ?? null
  }, [indexed, say])
  const [filter, setFilter] = useState('')
  /** The field searches the text of the files, not their names. */
  const [inText, setInText] = useState(false)
  const [making, setMaking] = useState(false)
  const [renaming, setRenaming] = useState<FileRef | null>(null)
  const dirtyPaths = useBuffers(
    useShallow(s =>
      Object.entries(s.files).flatMap(([path, f]) => (f.phase === 'open' && isDirty(f.buffer) ? [path] : [])),
    ),
  )
  const dirty = useMemo(() => new Set(dirtyPaths), [dirtyPaths])
  return (
    <>
      <div className="flex items-center gap-1.5 px-2 pb-1.5">
        <SearchField
          text={filter}
          inText={inText}
          onChange={(text, inText) => {
            setFilter(text)
            setInText(inText)
          }}
        />
        {createsSkills(root) ? (
          <CommandIconButton command="newSkill" size="fieldIcon">
            <FilePlus2 size={15} aria-hidden />
          </CommandIconButton>
        ) : (
          <IconButton label={t('newFile')} size="fieldIcon" onClick={() => setMaking(true)}>
            <FilePlus2 size={15} aria-hidden />
          </IconButton>
        )}
        {onFiles && (
          <FilesButton
            label={t('uploadFiles')}
            icon={<Upload size={15} aria-hidden />}
            size="fieldIcon"
            onFiles={onFiles}
          />
        )}
      </div>
      {isSearchFolder(root) &&
        (index && indexed ? (
          <IndexLine folder={root} status={indexed} model={index.model} />
        ) : (
          <NoIndexLine />
        ))}
      <DropZone words={t('uploadHere', { name: rootWords(root, t) })} onFiles={onFiles}>
        {inText ? (
          <FoundInFiles root={root} text={filter} />
        ) : (
          <Files
            root={root}
            filter={filter}
            problemOf={problemOf}
            current={file && `${file}`}
            dirty={dirty}
            onOpen={openFile}
            actions={{ onRename: setRenaming, onDelete }}
          />
        )}
      </DropZone>
      {renaming !== null && (
        <RenameFile
          file={renaming}
          onOpenChange={open => open || setRenaming(null)}
          onRename={to => (isSkill(renaming) ? renameSkill(renaming, to) : rename(renaming, to))}
        />
      )}
      {making && (
        <NewFile
          root={root}
          open={making}
          onOpenChange={setMaking}
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
    </>
  )
}
