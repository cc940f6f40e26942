import type { Recognise } from './analyzer.ts'

/**
 * Wraps an analyzer. While data of any agent or project must stay in a region that the analyzer is not known to be in, no text is sent to
 * it, because a text does not reveal its owner; callers see a missing answer. Once none of them exists, none can be added: their creation
 * refuses the region while this analyzer is configured.
 */
export function withheldWhile(isPromised: () => Promise<boolean>, recognise: Recognise): Recognise {
  let isNobody = false
  return async (text, language) => {
    isNobody ||= !(await isPromised())
    return isNobody ? recognise(text, language) : undefined
  }
}
