const companies =
  /(?:^|[\s,])(?:Inc|Incorporated|Corp|Corporation|Co|Company|Ltd|Limited|LLC|LLP|LP|PLC|plc|GmbH|AG|SE|KG|SA|SAS|BV|NV|AB|Oy|Group|Holdings?|Capital|Partners|Bank|Fund|Ventures|University|Institute|Agency|Ministry|Department|Agreement|Report|Project|Revenue|EBITDA)\.?$/
const particles = new Set(['van', 'von', 'der', 'den', 'de', 'di', 'da', 'del', 'la', 'le', 'bin', 'ibn', 'al', 'zu'])
const chinese =
  /^(?:欧阳|司马|上官|诸葛|[王李张刘陈杨黄赵吴周徐孙马朱胡郭何林罗高梁郑谢宋唐许韩冯邓曹彭曾肖田董潘袁蔡蒋余于杜叶程魏苏吕丁任卢姚沈钟姜崔谭陆范汪廖石金韦贾夏付方邹熊白孟秦邱侯江尹薛闫段雷龙黎史陶贺毛郝顾龚邵万覃武钱戴严莫孔向常汤])[\u4e00-\u9fff]{1,2}$/

/** Whether the name contains a legal form or a word of companies. */
export const namesACompany = (name: string): boolean => companies.test(name.trim())

/**
 * Whether a name could be a person's: one to five capitalized words, with particles between them, or a Chinese surname with one or two
 * characters; no digits, and no typical words of companies and documents. Prefers false positives: a city may pass.
 */
export function looksLikeAPersonsName(name: string): boolean {
  const trimmed = name.trim()
  if (chinese.test(trimmed)) return true
  if (trimmed.length < 2 || trimmed.length > 80 || companies.test(trimmed)) return false
  const words = trimmed.split(/\s+/)
  if (words.length > 5) return false
  return words.every((word, at) =>
    at > 0 && particles.has(word) ? at < words.length - 1 : capitalised.test(word) && !acronym.test(word),
  )
}
const capitalised = /^(?:d['’])?\p{Lu}[\p{L}'’.-]*$/u
const acronym = /^\p{Lu}{2,}$/u
