import { FilePlus2, Rows3, Search, Upload } from 'lucide-react'
import { Tabs } from 'radix-ui'
import { useEffect, useMemo, useState } from 'react'
import { useShallow } from 'zustand/react/shallow'
import type { Root } from '@/api/endpoints'
import { useFiles, useIndex, useSkills, useUntrusted } from '@/api/queries'
import type { FileEntry, FolderStatus } from '@/api/types'
import { DropZone } from '@/components/DropZone'
import { FilesButton } from '@/components/FilesButton'
import { onDemand } from '@/components/onDemand'
import { Button, IconButton } from '@/components/ui/Button'
import { create, open, remove, rename } from '@/features/editor/actions'
import { isDirty } from '@/features/editor/buffer'
import { EditorPane } from '@/features/editor/EditorPane'
import { useSay, useT } from '@/lib/i18n'
import { ROOT_TRAITS, ROOTS } from '@/lib/roots'
import { type Say, unreadableIn } from '@/lib/server'
import { useBuffers } from '@/stores/buffers'
import { openFile, useUi } from '@/stores/ui'
import { Files } from './Files'
import { isSkill } from './names'
import { removeSkill, renameSkill } from './skill'
import { upload } from './upload'

const IndexLine = onDemand(() => import('@/features/retrieval/IndexLine'), NoIndexLine)
const NewFile = onDemand(() => import('./NewFile'))
const RenameFile = onDemand(() => import('./RenameFile'))

/** Where files are searched, what is wrong with one is that it cannot be read for that; a PDF that can be is in order. */
function withFaults(
  files: FileEntry[] | undefined,
  unreadable: FolderStatus['unreadable'],
  say: Say,
): FileEntry[] | undefined {
  const faults = new Map(unreadable.map(file => [file.path, unreadableIn(say, file) ?? file.reason]))
  return files?.map(file => ({ ...file, problem: faults.get(file.path) ?? null }))
}

/** Room for the line that tells of an index, until the server has said it. */
function NoIndexLine() {
  return <div aria-hidden className="h-[30px] shrink-0" />
}

interface Props {
  /** Leads back to the passage that is looked at in the playground; null elsewhere. */
  onChunks: (() => void) | null
}

export default function Inspector({ onChunks }: Props) {
  const t = useT()
  const say = useSay()
  const { tab, file, reveal, set } = useUi(
    useShallow(s => ({ tab: s.tab, file: s.file, reveal: s.reveal, set: s.set })),
  )
  const files = useFiles(tab)
  const skills = useSkills()
  const untrusted = useUntrusted().data ?? []
  const index = useIndex().data
  const indexed = index?.folders.find(folder => folder.folder === tab)
  const listed = useMemo(
    () => (indexed ? withFaults(files.data, indexed.unreadable, say) : files.data),
    [files.data, indexed, say],
  )
  const [filter, setFilter] = useState('')
  const [making, setMaking] = useState(false)
  const [renaming, setRenaming] = useState<string | null>(null)
  const comparing = useBuffers(s => s.comparing)
  const current = useBuffers(s => (file ? s.files[file] : undefined))
  const dirtyPaths = useBuffers(
    useShallow(s =>
      Object.entries(s.files).flatMap(([path, f]) => (f.phase === 'open' && isDirty(f.buffer) ? [path] : [])),
    ),
  )
  const dirty = useMemo(() => new Set(dirtyPaths), [dirtyPaths])
  useEffect(() => {
    if (file) void open(file)
  }, [file])
  return (
    <section
      id="pane-right"
      aria-label={t('inspector')}
      tabIndex={-1}
      className="pane flex h-full min-h-0 flex-col overflow-hidden rounded-xl outline-none max-md:rounded-none max-md:border-0"
    >
      {onChunks && (
        <Button size="small" look="ghost" className="mx-2 mt-2 self-start text-rag!" onClick={onChunks}>
          <Rows3 size={13} aria-hidden />
          {t('backToChunks')}
        </Button>
      )}
      <Tabs.Root
        value={tab}
        onValueChange={value => {
          set({ tab: value as Root })
          setFilter('')
        }}
        className="flex min-h-0 shrink-0 basis-auto flex-col"
      >
        <Tabs.List aria-label={t('inspector')} className="m-2 flex rounded-lg bg-hover p-0.5">
          {ROOTS.map(root => (
            <Tabs.Trigger
              key={root}
              value={root}
              className="h-7 min-w-0 flex-1 truncate rounded-md px-1 text-small text-fg-2 hover:text-fg data-[state=active]:bg-card dark:data-[state=active]:bg-white/15 data-[state=active]:font-medium data-[state=active]:text-fg data-[state=active]:shadow-sm max-md:h-11 pointer-coarse:h-11"
            >
              {t(root)}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        <Tabs.Content value={tab} className="flex min-h-0 flex-col outline-offset-[-2px]">
          <div className="flex items-center gap-1.5 px-2 pb-1.5">
            <label className="relative min-w-0 flex-1">
              <Search
                size={13}
                aria-hidden
                className="absolute start-2.5 top-1/2 -translate-y-1/2 text-fg-3"
              />
              <input
                type="search"
                aria-label={t('filter')}
                placeholder={t('filter')}
                value={filter}
                onChange={event => setFilter(event.target.value)}
                className="h-7 w-full rounded-md border bg-card ps-7 pe-2 text-small max-md:h-10 max-md:text-[16px]"
              />
            </label>
            <IconButton
              label={t(tab === 'skills' ? 'newSkill' : 'newFile')}
              className="size-7! max-md:size-11! pointer-coarse:size-11!"
              onClick={() => setMaking(true)}
            >
              <FilePlus2 size={15} aria-hidden />
            </IconButton>
            <FilesButton
              label={t('uploadFiles')}
              icon={<Upload size={15} aria-hidden />}
              className="size-7! max-md:size-11! pointer-coarse:size-11!"
              onFiles={chosen => void upload(tab, chosen)}
            />
          </div>
          {ROOT_TRAITS[tab].searched &&
            (index && indexed ? <IndexLine status={indexed} model={index.model} /> : <NoIndexLine />)}
          <DropZone words={t('uploadHere', { name: t(tab) })} onFiles={dropped => void upload(tab, dropped)}>
            <Files
              root={tab}
              files={listed}
              skills={skills.data}
              untrusted={untrusted.map(file => file.path)}
              error={files.error?.message ?? null}
              filter={filter}
              current={file}
              dirty={dirty}
              onOpen={openFile}
              actions={{
                onRename: setRenaming,
                onDelete: path => void (isSkill(path) ? removeSkill(path) : remove(path)),
              }}
            />
          </DropZone>
        </Tabs.Content>
      </Tabs.Root>
      <div className="flex min-h-0 flex-1 flex-col">
        <EditorPane
          path={file}
          file={current}
          comparing={comparing}
          reveal={reveal}
          untrusted={untrusted.some(({ path }) => path === file)}
        />
      </div>
      {renaming !== null && (
        <RenameFile
          path={renaming}
          onOpenChange={open => open || setRenaming(null)}
          onRename={to => (isSkill(renaming) ? renameSkill(renaming, to) : rename(renaming, to))}
        />
      )}
      {making && (
        <NewFile
          root={tab}
          open={making}
          onOpenChange={setMaking}
          onCreate={async draft => {
            const result = await create(draft.path, draft.content)
            if (result.kind === 'created') openFile(draft.path)
            return result
          }}
        />
      )}
    </section>
  )
}
