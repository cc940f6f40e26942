'use client'

import { useTranslations } from 'next-intl'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { issueOf } from '#components/frame/faults.ts'
import { Alert } from '#components/ui/alert.tsx'
import { CodeField, Select } from '#components/ui/field.tsx'
import { FormBox } from '#components/ui/form-box.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { maxChainReferences } from '#lib/domains/agents/life/rules.ts'
import { addNoteAt, chainTouched, type Note } from './records.ts'

const kinds = ['address', 'transaction', 'attestation'] as const satisfies readonly Note['kind'][]
const empty: { chain: string; kind: Note['kind']; reference: string } = {
  chain: 'eip155:1',
  kind: 'address',
  reference: '',
}

/** Adds a blockchain reference for the agent. The server validates the formats. */
export function ChainNoteForm({ agentId }: { agentId: string }) {
  const t = useTranslations('agentRecords.chain')
  const common = useTranslations('common')
  const { draft, change, clear } = useDraft(`agents.chain.${agentId}`, empty)
  const add = useApiMutation(addNoteAt, { touches: chainTouched })
  const { problem } = add
  const isAbout = (field: string) => issueOf(problem, field) !== undefined
  const isOfField = isAbout('chain') || isAbout('reference')
  const submit = () =>
    add.begin(
      {
        params: { id: agentId },
        body: { chain: draft.chain.trim(), kind: draft.kind, reference: draft.reference.trim() },
      },
      clear,
    )
  return (
    <FormBox
      name="add-chain-note"
      tone="plain"
      submit={add.isPending ? common('busy') : t('add.submit')}
      isPending={add.isPending}
      onSubmit={submit}
    >
      <p className="text-quiet">{t('add.lead')}</p>
      {problem?.code === 'conflict' ? (
        <Alert tone="danger" title={t('add.tooMany', { most: maxChainReferences })} isLive />
      ) : (
        problem && !isOfField && <ProblemAlert problem={problem} />
      )}
      {add.isSuccess && <Alert tone="done" title={t('add.done')} isLive />}
      <div className="grid gap-4 sm:grid-cols-2">
        <Select
          label={t('columns.kind')}
          name="kind"
          value={draft.kind}
          options={kinds.map((value) => ({ value, title: t(`kinds.${value}`) }))}
          onChange={({ target }) => {
            const chosen = kinds.find((one) => one === target.value)
            if (chosen) change({ kind: chosen })
          }}
        />
        <CodeField
          label={t('columns.chain')}
          hint={t('add.chainHint')}
          name="chain"
          maxLength={41}
          value={draft.chain}
          onChange={({ target }) => change({ chain: target.value })}
          error={isAbout('chain') ? t('add.badChain') : undefined}
          required
        />
      </div>
      <CodeField
        label={t('columns.reference')}
        hint={t('add.referenceHint')}
        name="reference"
        maxLength={128}
        value={draft.reference}
        onChange={({ target }) => change({ reference: target.value })}
        error={isAbout('reference') ? t(`add.badReference.${draft.kind}`) : undefined}
        required
      />
    </FormBox>
  )
}
