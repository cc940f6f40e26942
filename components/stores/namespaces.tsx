'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { type Organisation, organisationsAt } from '#components/accounts/endpoints.ts'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { Checkbox, Field, TextArea } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { DataTable } from '#components/ui/table.tsx'
import type { listOrganisations } from '#lib/domains/accounts/users-contract.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { assignNamespacesAt } from './locations.ts'
import { anyId, maxPrefixes, typedNamespaces } from './namespace-rules.ts'

/** The most organizations that the API lists. */
const maxListed = 100

interface AssignProps {
  organisation: Organisation
  close: () => void
  done: () => void
}
function AssignDialog({ organisation, close, done }: AssignProps) {
  const t = useTranslations('stores.namespaces')
  const { organisation_id: id, name, namespaces } = organisation
  const empty = {
    text: namespaces.filter((one) => one !== anyId).join('\n'),
    any: namespaces.includes(anyId),
  }
  const { draft, change: type, clear } = useDraft(`stores.namespaces.${id}`, empty)
  const assign = useApiMutation(assignNamespacesAt, { touches: [organisationsAt.path] })
  const { prefixes, fault } = typedNamespaces(draft.text, draft.any)
  const released = namespaces.filter((one) => !prefixes.includes(one))
  const isConflict = assign.problem?.code === 'conflict'
  return (
    <Confirm
      open
      onOpenChange={(open) => {
        if (open) return
        clear()
        close()
      }}
      title={t('ask', { name })}
      consequences={<p>{t('text')}</p>}
      action={t('save')}
      tone="main"
      change={isConflict ? { ...assign, problem: undefined } : assign}
      isIncomplete={fault !== undefined}
      onConfirm={() =>
        assign.begin({ params: { id }, body: { namespaces: prefixes } }, () => {
          clear()
          done()
        })
      }
    >
      {isConflict && <Alert tone="danger" title={t('conflict')} isLive />}
      <TextArea
        label={t('prefixes')}
        hint={t('prefixesHint', { most: maxPrefixes })}
        className="font-mono"
        autoCapitalize="none"
        autoComplete="off"
        spellCheck={false}
        value={draft.text}
        onChange={({ target }) => type({ text: target.value })}
        error={
          fault === undefined
            ? undefined
            : fault.kind === 'form'
              ? t('wrong', { lines: fault.lines.join(', ') })
              : t('tooMany', { most: maxPrefixes })
        }
      />
      <Checkbox
        label={t('any')}
        hint={t('anyHint')}
        checked={draft.any}
        onChange={({ target }) => type({ any: target.checked })}
      />
      {released.length > 0 && (
        <Alert tone="warning" title={t('released', { count: released.length })}>
          <p>{t('releasedText')}</p>
        </Alert>
      )}
    </Confirm>
  )
}

/** The graph groups and threads that each organization may claim. An admin assigns and releases prefixes. */
export function Namespaces({ initial }: { initial: Output<typeof listOrganisations> }) {
  const t = useTranslations('stores.namespaces')
  const [q, setQ] = useState('')
  const query = q.trim() === '' ? {} : { query: { q: q.trim() } }
  const { data, problem } = useApiQuery(organisationsAt, query, q.trim() === '' ? { initial } : {})
  const [editing, setEditing] = useState<Organisation>()
  const [told, setTold] = useState('')
  const rows = data?.data ?? []
  return (
    <div className="grid gap-3">
      {told !== '' && <Alert tone="done" title={told} isLive />}
      {problem && <ProblemAlert problem={problem} />}
      {initial.data.length >= maxListed && (
        <Field label={t('filter')} type="search" value={q} onChange={({ target }) => setQ(target.value)} />
      )}
      {rows.length === 0 && !problem ? (
        <p className="text-quiet">{data ? t('none') : ''}</p>
      ) : (
        <DataTable
          label={t('title')}
          rows={rows}
          rowKey={({ organisation_id: id }) => id}
          columns={[
            { key: 'name', title: t('columns.organisation'), main: true, cell: ({ name }) => name },
            {
              key: 'own',
              title: t('columns.own'),
              cell: ({ organisation_id: id }) => <CopyableId id={`${id}_`} what={t('columns.own')} />,
            },
            {
              key: 'assigned',
              title: t('columns.assigned'),
              cell: ({ namespaces }) =>
                namespaces.length === 0 ? (
                  <span className="text-quiet">{t('noneAssigned')}</span>
                ) : (
                  <ul className="grid gap-0.5">
                    {namespaces.map((one) => (
                      <li key={one}>
                        {one === anyId ? t('anyShort') : <code className="font-mono text-[0.8125rem]">{one}</code>}
                      </li>
                    ))}
                  </ul>
                ),
            },
            {
              key: 'edit',
              title: t('columns.edit'),
              isTitleHidden: true,
              cell: (organisation) => (
                <Button
                  tone="plain"
                  size="small"
                  aria-label={t('editNamed', { name: organisation.name })}
                  onClick={() => {
                    setTold('')
                    setEditing(organisation)
                  }}
                >
                  {t('edit')}
                </Button>
              ),
            },
          ]}
        />
      )}
      {editing && (
        <AssignDialog
          organisation={editing}
          close={() => setEditing(undefined)}
          done={() => {
            setTold(t('done', { name: editing.name }))
            setEditing(undefined)
          }}
        />
      )}
    </div>
  )
}
