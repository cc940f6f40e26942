'use client'

import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { useLoaded } from '#components/ui/loaded.ts'
import { type Draft, emptyDraft } from './entry-draft.ts'
import type { OpenVault } from './use-vault.ts'

const form = () => import('./entry-form.tsx')

interface EntryWritingProps {
  agentId: string
  vault: OpenVault
  isWritable: boolean
}

/** The button and form for a new entry. Typed text survives while the page is open, even when the grimoire locks meanwhile. */
export function EntryWriting({ agentId, vault, isWritable }: EntryWritingProps) {
  const t = useTranslations('agentGrimoire')
  const [isWriting, setWriting] = useState(false)
  const [draft, setDraft] = useState<Draft>()
  const [added, setAdded] = useState<Pick<Draft, 'kind' | 'scope'>>()
  const loaded = useLoaded(form, isWriting)
  const { isOpen } = vault
  const isPrivate = draft?.scope === 'private'
  // Hide private text once the grimoire locks, because the user may have left the screen.
  useEffect(() => {
    if (!isOpen && isPrivate) setWriting(false)
  }, [isOpen, isPrivate])
  if (!isWritable) return null
  const shown = draft ?? { ...emptyDraft, scope: isOpen ? ('private' as const) : ('clade' as const) }
  const isKept = !isWriting && draft !== undefined && draft.content.trim() !== ''
  return (
    <div className="grid justify-items-start gap-3">
      {added && <Alert tone="done" title={t(`write.done.${added.scope}`, { kind: t(`kinds.${added.kind}`) })} isLive />}
      {isKept && (
        <p role="status" className="text-quiet">
          {t(isPrivate && !isOpen ? 'write.keptLocked' : 'write.keptOpen')}
        </p>
      )}
      <Button
        tone={isOpen ? 'main' : 'plain'}
        onClick={() => {
          setAdded(undefined)
          // A private draft needs the key first.
          if (isPrivate && !isOpen) document.querySelector<HTMLElement>('[data-unlock]')?.focus()
          else setWriting(true)
        }}
      >
        {t(isKept ? 'write.goOn' : 'write.open')}
      </Button>
      {isWriting && loaded && (
        <loaded.EntryForm
          agentId={agentId}
          vault={vault}
          draft={shown}
          change={(changes) => setDraft((before) => ({ ...(before ?? shown), ...changes }))}
          onClose={() => setWriting(false)}
          onStored={(written) => {
            setDraft(undefined)
            setAdded(written)
            setWriting(false)
          }}
        />
      )}
    </div>
  )
}
