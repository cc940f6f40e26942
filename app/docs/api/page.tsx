import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { Messages } from '#components/frame/words.tsx'
import { matching, referenceOf } from '#components/reference/document.ts'
import { FilterField } from '#components/reference/filter-field.tsx'
import { OperationView } from '#components/reference/operation-view.tsx'
import { ProblemCodes } from '#components/reference/problem-codes.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { PlainLink, TextLink } from '#components/ui/text-link.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('reference'))('name') })

interface ReferencePageProps {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}

export default async function ReferencePage({ searchParams }: ReferencePageProps) {
  const { q } = await searchParams
  const query = typeof q === 'string' ? q.slice(0, 200) : ''
  const t = await getTranslations('reference')
  const { version, operations, schemas } = referenceOf(app.openApi())
  const groups = matching(operations, query)
  const found = [...groups.values()].reduce((count, group) => count + group.length, 0)
  return (
    <Page
      width="wide"
      title={t('title', { count: operations.length })}
      lead={
        <>
          <p>{t.rich('lead', { version, document: (text) => <PlainLink href="/openapi.json">{text}</PlainLink> })}</p>
          <p>{t('tokens')}</p>
        </>
      }
    >
      <Messages of={['reference']}>
        <FilterField />
      </Messages>
      <p role="status" className="text-quiet">
        {query ? t('found', { found, count: operations.length }) : ''}
        {query && found === 0 && (
          <>
            {' '}
            <TextLink href="/docs/api">{t('all')}</TextLink>
          </>
        )}
      </p>
      {!query && (
        <nav aria-label={t('groups')}>
          <ul className="flex flex-wrap gap-x-4 gap-y-1">
            {[...groups].map(([tag, group]) => (
              <li key={tag}>
                <PlainLink href={`#tag-${tag}`}>{tag}</PlainLink>{' '}
                <span className="text-sm text-quiet tabular-nums">{group.length}</span>
              </li>
            ))}
            <li>
              <PlainLink href="#problems">{t('problems')}</PlainLink>
            </li>
          </ul>
        </nav>
      )}
      {[...groups].map(([tag, group]) => (
        <section key={tag} aria-labelledby={`tag-${tag}`} className="grid border-t-2 border-line pt-5">
          <h2 id={`tag-${tag}`} className="text-lg font-semibold" lang="en">
            {tag}
          </h2>
          {group.map((operation) => (
            <OperationView key={operation.operationId} operation={operation} schemas={schemas} />
          ))}
        </section>
      ))}
      {!query && (
        <Section id="problems" title={t('problems')} lead={t('problemsLead')}>
          <ProblemCodes />
        </Section>
      )}
    </Page>
  )
}
