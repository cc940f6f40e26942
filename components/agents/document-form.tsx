'use client'

import { useTranslations } from 'next-intl'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Select } from '#components/ui/field.tsx'
import { FormBox } from '#components/ui/form-box.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { agentDocumentKinds, maxDocuments } from '#lib/domains/agents/life/rules.ts'
import { DocumentFields, isOfDocumentField } from './document-fields.tsx'
import { addDocumentAt, documentPage, documentsTouched, isTooLong, type ShownDocumentKind } from './documents.ts'

interface Draft extends Record<string, unknown> {
  kind: ShownDocumentKind
  title: string
  body: string
}

/** Creates a thesis or playbook of an agent. */
export function DocumentForm({ agentId, kind }: { agentId: string; kind: ShownDocumentKind }) {
  const t = useTranslations('agentDocuments.add')
  const kinds = useTranslations('agentDocuments.kinds')
  const documents = useTranslations('agentDocuments')
  const common = useTranslations('common')
  const { draft, change, clear } = useDraft<Draft>(`agents.document.${agentId}`, { kind, title: '', body: '' })
  const add = useApiMutation(addDocumentAt, { touches: documentsTouched })
  const { problem } = add
  const made = add.data?.data
  const submit = () => {
    if (isTooLong(draft.body)) return
    const { kind, title, body } = draft
    add.begin({ params: { id: agentId }, body: { kind, title: title.trim(), body } }, clear)
  }
  return (
    <FormBox
      name="add-document"
      submit={add.isPending ? common('busy') : t('submit')}
      isPending={add.isPending}
      onSubmit={submit}
    >
      <p className="text-quiet">{t('lead')}</p>
      {problem?.code === 'conflict' ? (
        <Alert tone="danger" title={t('tooMany', { most: maxDocuments })} isLive />
      ) : (
        problem && !isOfDocumentField(problem) && <ProblemAlert problem={problem} />
      )}
      {made && (
        <Alert tone={made.is_as_sent ? 'done' : 'warning'} title={t('done')} isLive>
          {!made.is_as_sent && <p>{documents('cleaned')}</p>}
          <p>
            <TextLink href={documentPage(agentId, made.id)}>{t('open')}</TextLink>
          </p>
        </Alert>
      )}
      <Select
        label={t('kind')}
        name="kind"
        value={draft.kind}
        options={agentDocumentKinds.map((value) => ({ value, title: kinds(value) }))}
        onChange={({ target }) => {
          const chosen = agentDocumentKinds.find((one) => one === target.value)
          if (chosen) change({ kind: chosen })
        }}
      />
      <DocumentFields title={draft.title} body={draft.body} problem={problem} onChange={change} />
    </FormBox>
  )
}
