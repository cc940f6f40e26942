const before = 96
const after = 48
/** Names of a key that opens an account; `public key` is none of them. */
const keyTerms =
  /priv(?:ate)?[ _-]{0,2}key|secret[ _-]{0,2}key|signing[ _-]{0,2}key|signer[ _-]{0,2}key|deployer[ _-]{0,2}key|wallet[ _-]{0,2}key|owner[ _-]{0,2}key|account[ _-]{0,2}key|\bpriv\b|\bpk\b|\bsecret\b|new (?:ethers\.)?wallet|privatekeytoaccount|from_key|secp256k1|\bkeystore\b|clave privada|clé privée|privater schlüssel|privaten schlüssel|chiave privata|chave privada|приватный ключ|закрытый ключ|私钥|私鑰|秘密鍵|개인키|비밀키/giu
/** What else has 32 bytes as hex: transactions, blocks, hashes of all sorts. */
const otherTerms =
  /\b(?:tx|txn|txs|txid|tx_?hash|txn_?hash|transaction|transactions|receipt|hash|hashes|block|blockhash|topic|topics|merkle|root|slot|digest|sha-?256|keccak|keccak256|commit|checksum|bytes32|nonce|signature|salt|domain separator|public[ _-]?key|pubkey|calldata|event|log|etag|sha256sum)\b|(?:tx|transaction|block|state|log|receipt|merkle)_?(?:hash|id|root)|交易|哈希|区块|トランザクション|ハッシュ|트랜잭션|해시/giu

const last = (text: string, terms: RegExp): number => {
  let at = -1
  for (const match of text.matchAll(terms)) at = match.index + match[0].length
  return at
}
const first = (text: string, terms: RegExp): number => {
  const at = text.search(terms)
  return at < 0 ? Number.POSITIVE_INFINITY : at
}

/** Whether what stands there is called a key: the nearest name before it decides, and where there is none, the next one after it. */
export function isCalledKey(text: string, start: number, end: number): boolean {
  const prior = text.slice(Math.max(0, start - before), start)
  const [key, hash] = [last(prior, keyTerms), last(prior, otherTerms)]
  if (key >= 0 || hash >= 0) return key > hash
  const next = text.slice(end, end + after)
  return first(next, keyTerms) < first(next, otherTerms)
}

const seedTerms =
  /seed|mnemonic|recovery|backup phrase|secret phrase|wallet words|助记词|助記詞|种子|種子|恢复词|恢復詞|备份词|密语|密語|ニーモニック|シード|復元フレーズ|니모닉|시드|복구/iu
/** Whether something just before that place speaks of a seed phrase. */
export const isCalledSeed = (text: string, start: number): boolean =>
  seedTerms.test(text.slice(Math.max(0, start - before), start))
