'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useChange } from '#components/frame/asking.ts'
import { useSizes } from '#components/projects/sizes.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Facts } from '#components/ui/facts.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { Time } from '#components/ui/time.tsx'
import { deleteStateAt, type State } from './places.ts'

/** The state that the agent uploaded for its snapshots: its size, and a button to delete it. */
export function StatePanel({ state, mayWrite }: { state: State; mayWrite: boolean }) {
  const t = useTranslations('agentSnapshots.state')
  const size = useSizes()
  const [isOpen, setOpen] = useState(false)
  const removal = useChange(deleteStateAt)
  return (
    <div className="grid justify-items-start gap-4">
      <Facts
        facts={[
          [t('size'), size(state.bytes)],
          [t('type'), state.media_type],
          [t('uploaded'), <Time key="uploaded" at={state.uploaded_at} relative />],
          ['SHA-256', <ShortId key="sum" id={state.sha256} what="SHA-256" />],
        ]}
      />
      {mayWrite && (
        <Button tone="danger" size="small" onClick={() => setOpen(true)}>
          {t('remove')}
        </Button>
      )}
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={t('ask')}
        consequences={<p>{t('text')}</p>}
        action={t('do')}
        change={removal}
        onConfirm={() => removal.begin({ params: { id: state.agent_id } }, () => setOpen(false))}
      />
    </div>
  )
}
