import type { DataSource, RetainedRecord } from './data-source.ts'
import type { EvidenceCheck } from './evidence.ts'
import type { Expiring } from './expiring.ts'
import type { Exporter, PersonExporter } from './exporter.ts'
import type { RunnableJob } from './job.ts'
import type { Measuring } from './measure.ts'
import { isUseCase, type UseCase } from './use-case.ts'

/** How the personal data of a domain is erased, exported and retained. It needs stores, but no use case of any domain. */
export interface PersonalData {
  /** In the order of erasure within a stage. */
  dataSources?: readonly DataSource[]
  exporters?: readonly Exporter[]
  personExporters?: readonly PersonExporter[]
  retainedRecords?: readonly RetainedRecord[]
  expiring?: readonly Expiring[]
}

/** What a domain contributes to the application. */
export interface DomainModule {
  /** By the name under which the application offers them: `holds.create`, `tokens.issue` … */
  useCases: Readonly<Record<string, object>>
  jobs?: readonly RunnableJob[]
  /** Its checks in the compliance report. */
  checks?: readonly EvidenceCheck[]
  /** Its metrics. */
  measures?: readonly Measuring[]
  /** Its jobs that send emails. */
  emailJobs?: readonly string[]
}

type Intersection<U> = (U extends unknown ? (member: U) => void : never) extends (all: infer I) => void ? I : never

/** Combines the use cases of all modules. @throws Error if two modules use the same name */
export function mergeUseCases<M extends readonly DomainModule[]>(modules: M): Intersection<M[number]['useCases']> {
  const all: Record<string, object> = {}
  for (const { useCases } of modules)
    for (const [name, own] of Object.entries(useCases)) {
      if (name in all) throw new Error(`Two modules provide the use cases ${name}.`)
      all[name] = own
    }
  return all as Intersection<M[number]['useCases']>
}

/** The use cases of modules that are operations of the API, in the order of the modules. */
export const operationsOf = (modules: readonly DomainModule[]): UseCase[] =>
  modules.flatMap(({ useCases }) => Object.values(useCases).flatMap((own) => Object.values(own).filter(isUseCase)))
