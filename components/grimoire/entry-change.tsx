'use client'

import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { useLoaded } from '#components/ui/loaded.ts'
import type { Draft, EditedEntry } from './entry-draft.ts'
import type { OpenVault } from './use-vault.ts'

const form = () => import('./entry-form.tsx')

/** An edit of an existing entry. `draft` is the same object as `first` until the user types. */
export interface EntryEdit extends EditedEntry {
  first: Draft
  draft: Draft
  isShown: boolean
}
interface ChangingProps {
  agentId: string
  vault: OpenVault
  change: EntryEdit | undefined
  set: (change: EntryEdit | undefined) => void
}
/** The edit dialog of an entry. Typed text survives while the page is open; an untouched draft is discarded when the grimoire locks. */
export function Changing({ agentId, vault, change, set }: ChangingProps) {
  const t = useTranslations('agentGrimoire')
  const [isDone, setDone] = useState(false)
  const isShown = change?.isShown ?? false
  const loaded = useLoaded(form, isShown)
  const { isOpen } = vault
  const isLocked = !isOpen && change?.entry.scope === 'private'
  const leave = () => set(change && change.draft !== change.first ? { ...change, isShown: false } : undefined)
  useEffect(() => {
    if (isLocked && isShown) leave()
    if (isShown) setDone(false)
  })
  if (!change) return isDone ? <Alert tone="done" title={t('change.done')} isLive /> : null
  if (isShown)
    return loaded ? (
      <loaded.EntryForm
        agentId={agentId}
        vault={vault}
        edited={change}
        draft={change.draft}
        change={(changes) => set({ ...change, draft: { ...change.draft, ...changes } })}
        onClose={leave}
        onStored={() => {
          set(undefined)
          setDone(true)
        }}
        onMoved={{
          goOn: (revision) => set({ ...change, entry: { ...change.entry, revision } }),
          drop: () => set(undefined),
        }}
      />
    ) : null
  return (
    <div className="grid justify-items-start gap-3">
      <p role="status" className="text-quiet">
        {t(isLocked ? 'write.keptLocked' : 'write.keptOpen')}
      </p>
      <div className="flex flex-wrap gap-2">
        <Button
          tone="plain"
          onClick={() => {
            if (isLocked) document.querySelector<HTMLElement>('[data-unlock]')?.focus()
            else set({ ...change, isShown: true })
          }}
        >
          {t('change.goOn')}
        </Button>
        <Button tone="ghost" onClick={() => set(undefined)}>
          {t('change.drop')}
        </Button>
      </div>
    </div>
  )
}
