'use client'

import { useFormatter, useNow, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiQuery } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Choice } from '#components/ui/field.tsx'
import { PlainLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { ExportView } from '#lib/domains/exports/contract.ts'
import { AgentExport } from './agent-export.tsx'
import { type CopyChoice, copyChoices } from './deletion-rules.ts'
import { ExportDesk, type Exports, exportsAt } from './export-desk.tsx'
import { exportSizeOf, filesToFetch } from './export-rules.ts'

interface DeletionCopyProps {
  exported: Exports
  agent: { id: string; name: string } | undefined
  copy: CopyChoice
  onCopy: (copy: CopyChoice) => void
}

/** The step before a deletion: whether to take a copy, with the request or right away. */
export function DeletionCopy({ agent, ...props }: DeletionCopyProps) {
  return agent ? <AgentExport agent={agent} /> : <PersonCopy {...props} />
}

function PersonCopy({ exported, copy, onCopy }: Omit<DeletionCopyProps, 'agent'>) {
  const t = useTranslations('deletion.copy')
  const now = useNow({ updateInterval: 30_000 })
  const { data } = useApiQuery(exportsAt, {}, { initial: exported }).data ?? exported
  const isGoing = data.some(({ state }) => state === 'queued' || state === 'running')
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set())
  const files = filesToFetch(data, seen, now)
  if (files.some(({ id }) => !seen.has(id))) setSeen(new Set(files.map(({ id }) => id)))
  return (
    <>
      {files.length > 0 && <FilesToFetch files={files} />}
      <Choice
        label={t('label')}
        isLabelHidden
        name="copy"
        value={copy}
        onChange={onCopy}
        options={copyChoices.map((value) => ({
          value,
          title: t(value === 'none' && files.length > 0 ? 'none.ready' : `${value}.title`),
          ...(value === 'with' && { text: t('with.text') }),
        }))}
      />
      <ExportDesk initial={exported} isBrief />
      {isGoing && <p className="text-sm text-quiet">{t('preparing')}</p>}
    </>
  )
}

/** Prepared files that the deletion, or the end of their retention, deletes. */
function FilesToFetch({ files }: { files: readonly ExportView[] }) {
  const t = useTranslations('deletion.copy.files')
  const count = files.filter(({ downloaded_at: at }) => at === null).length
  return (
    <Alert tone={count > 0 ? 'warning' : 'done'} title={t('title', { count })}>
      {files.map((file) => (
        <FileToFetch key={file.id} file={file} />
      ))}
    </Alert>
  )
}

function FileToFetch({ file: { id, scope, bytes, expires_at: until, downloaded_at: at } }: { file: ExportView }) {
  const t = useTranslations('deletion.copy.files')
  const exports = useTranslations('exports')
  const format = useFormatter()
  const { value, unit } = exportSizeOf(bytes ?? 0)
  const size = format.number(value, { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 1 })
  return (
    <div>
      <PlainLink
        href={`/api/privacy/exports/${id}/file`}
        download
        aria-label={exports('downloadNamed', { what: exports(`scopes.${scope}`), size })}
      >
        {exports('download')}
      </PlainLink>
      <p>
        {at === null
          ? until !== null && t.rich('until', { time: () => <Time at={until} /> })
          : exports.rich('fetched', { time: () => <Time at={at} /> })}
      </p>
    </div>
  )
}
