'use client'

import { useTranslations } from 'next-intl'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { Section } from '#components/ui/page.tsx'
import type { Snapshot } from './endpoints.ts'

/** Explains how the owner restores a snapshot on their own machine. */
export function Restoring({ agentId, snapshot }: { agentId: string; snapshot: Snapshot | undefined }) {
  const t = useTranslations('agentSnapshots.restore')
  const id = snapshot?.id ?? 'snap_…'
  const whose = `--as <${t('email')}> --agent ${agentId}`
  return (
    <Section id="restore" title={t('title')} lead={t('lead')}>
      <div className="grid gap-3">
        <p>{t('open')}</p>
        <CodeBlock code={`kp snapshot download ${id} ${whose} --output agent.jsonl`} what="kp snapshot download" />
        <p>{t('same')}</p>
        <CodeBlock code={`kp snapshot restore ${id} ${whose}`} what="kp snapshot restore" />
        <p>{t('other')}</p>
        <CodeBlock
          code={`kp snapshot restore ${id} ${whose} --into <${t('otherAgent')}>`}
          what="kp snapshot restore --into"
        />
        <p className="text-quiet">{t('keeps')}</p>
      </div>
    </Section>
  )
}
