import type { Range } from './markdown-lines.ts'
import { GAP, plain } from './overrides.ts'

/**
 * Words of texts that try to take over a model without the form of an order that refuses a text. Each field is a list of alternatives. A
 * space is any gap between words.
 */
interface TakeoverWords {
  /** Words or their beginnings without one of which a text is no such attempt. */
  sign: string
  /** Words without one of which a text near a sign addresses no reader: for the language in which most texts are written. */
  address?: string
  /** "Show", "print", "repeat". */
  show: string
  /** Names of the text that a model was given, with a word that says whose it is. */
  prompt: string
  /** "Your rules", "all your restrictions". */
  yourRules: string
  /** "Are lifted", "no longer apply". */
  lifted: string
  /** "Replace", "substitute". */
  replace: string
  /** "The opposite of". */
  opposite: string
  /** "Ignore", "forget". */
  ignore: string
  /** "What your developers told you". */
  developers: string
  /** "The text above", "everything you were told". */
  above: string
  /** "You are a model", "act as an assistant". */
  model: string
  /** "Without restrictions". */
  limitless: string
  /** "Everything said so far does not count." */
  voided: string
  /** "Here are your real instructions", "you are no longer bound by rules". */
  whole: string
  /** "System" as the name of a role. */
  role: string
  /** "All rules", "the safety rules": after a role, or alone in a line. */
  rules: string
  /** The object precedes the verb. */
  isVerbLast?: true
  /** Words are not separated by spaces. */
  isJoined?: true
}

const english: TakeoverWords = {
  address:
    "you|your|you're|u|me|my|ignore|forget|disregard|drop|skip|neglect|discard|bypass|override|erase|reveal|leak|disclose|fake|joke|mistake|wrong|false|test|exercise|nonsense|matter|count|repeat|print|output|dump|recite|assistant|model",
  sign: 'prompts?|instructions|rules?|restrictions?|limits?|limitations?|constraints?|guidelines?|guardrails?|safeguards?|filters?|programming|ethics|policies|directives?|developers?|creators?|operators?|trainers?|makers?|above|told|so far|real|obey|censorship|listen|safety',
  show: 'show|reveal|print|output|display|repeat|leak|dump|disclose|recite|write out|write down|give|tell|send|share|paste|copy|quote|summari[sz]e|translate|encode|spell out|list|return|expose|what is|what are|what was|what were',
  prompt:
    'your (?:own |full |entire |complete |exact |whole |secret |internal |current |original |initial )*(?:system|hidden|initial|secret|original|internal|developer|starting|base) (?:prompts?|instructions?|messages?)|your (?:full |exact |entire |whole )?prompt|(?:the|that) (?:hidden|secret) (?:system )?(?:prompts?|instructions)|the (?:full |entire |complete |exact |whole )*system prompt(?: word for word| verbatim)|the (?:words|text|instructions) (?:of|in) your (?:system )?prompt|the instructions (?:that )?you (?:were|have been|got|received)(?: given)?',
  yourRules:
    '(?:(?:all|any|each|every one) (?:of )?)?your (?:(?:own|previous|former|safety|content|ethical|usual|normal|current|existing) ){0,2}(?:rules|restrictions|limits|limitations|constraints|guidelines|guardrails|filters|safeguards|instructions|programming|ethics|directives|policies)|(?:all|any|the) (?:the )?(?:rules|instructions|guidelines|restrictions|limits|orders|directives) (?:that )?(?:you (?:got|had|have|were given|received|follow|know)|(?:placed |imposed )?on you)(?: so far| until now| before| earlier| up to now)?',
  lifted:
    "(?:are|is|were|have been|has been|become) (?:now |all |hereby )*(?:no longer (?:valid|in force|active|binding)|lifted|suspended|removed|void|off|gone|disabled|cancell?ed|revoked|deleted|erased|obsolete|withdrawn|invalid|paused|turned off|switched off|overridden|replaced|outdated|reset)|(?:no longer|do not|don't|cease to|stop to) (?:apply|count|matter|exist|bind)|(?:have|has) (?:expired|changed|ended)",
  replace: 'replace|substitute|swap|exchange|trade|overwrite|rewrite|update|change',
  opposite:
    'the (?:exact )?(?:opposite|reverse|contrary) (?:of|to) (?:(?:what|everything|anything|all) )?(?:of )?|contrary to ',
  ignore:
    "ignore|disregard|forget|drop|skip|neglect|discard|bypass|override|leave out|pay no attention to|(?:do not|don't|never) (?:listen to|follow|obey|trust|believe|care about|mind)|stop (?:listening to|following|obeying)|put aside|set aside|throw away|erase",
  developers:
    '(?:(?:what|everything|anything|all|all that|whatever|the (?:instructions|rules|orders|guidelines|words|text)|instructions|rules|orders) )(?:that )?(?:(?:from|of|by|set by|given by|written by|imposed by) )?(?:(?:you got|you were given|you received) from )?(?:your|the) (?:developers?|creators?|makers?|operators?|company|owners?|trainers?|programmers?|authors?|admins?)',
  above:
    '(?:(?:all|any) )?(?:of )?the (?:(?:whole|entire|other) )?(?:text|content|words|message|part|paragraphs?|lines|document|conversation) (?:above|before this|so far|up to here)|(?:everything|anything|all|whatever|what) (?:that )?(?:you (?:were|have been|had been|just) (?:told|read|instructed|asked|given|taught)|you (?:read|know|learned)|i (?:said|wrote|told you)|was (?:said|written)|came|comes|is written|stands)(?: so far| until now| before| above| earlier| up to now| previously)',
  model:
    "(?:you are|you're|become|act as|behave as|behave like|pretend to be|be|respond as|answer as|imagine (?:that )?you are) (?:now )?(?:an? )?(?:[a-z]{1,14} ){0,3}(?:ai|model|assistant|chatbot|bot|llm|[a-z]{0,14}gpt|agent|system|machine)",
  limitless:
    '(?:without|with no|free of|free from|not bound by|unbound by|that (?:has|knows|follows) no|who (?:has|knows|follows) no) (?:any |all |its |the |more )*(?:[a-z]{1,12} )?(?:rules?|restrictions?|limits?|limitations?|filters?|constraints?|guidelines?|guardrails?|censorship|ethics|morals|boundaries|policies)',
  voided:
    "(?:everything|anything|all|whatever|what) (?:that )?(?:you (?:were|have been) (?:told|given|taught)|i (?:said|wrote)|was said|was written|came)(?: so far| until now| before| above| earlier| up to now| previously)? (?:is|was|does|has|no longer)(?: now)? (?:void|cancell?ed|not count|no longer|wrong|false|a test|a joke|nonsense|invalid|counts|applies|valid)|whatever you were told (?:so far|until now|before|earlier),? (?:drop|forget|ignore) (?:it|that)|(?:the )?(?:previous|earlier|above|prior) (?:instructions?|prompts?|rules|messages?) (?:(?:was|were|is|are) (?:only |just |all )?(?:a test|a joke|fake|wrong|false|a mistake|an error|not real|nonsense|an exercise|from (?:an|the) attacker)|(?:do not|don't|no longer) (?:matter|count))",
  whole:
    "(?:you|u) (?:(?:now|from now on) )?(?:no longer|do not|don't|must not|need not|will not|won't) (?:have|obey|follow|respect|need to (?:obey|follow)|have to (?:obey|follow)) (?:any (?:more )?|your |all |the |those )(?:[a-z]{1,12} )?(?:rules?|restrictions?|limits?|limitations?|filters?|constraints?|guidelines?|guardrails?)|(?:you are|you're) (?:now )?(?:no longer|not) (?:bound|restricted|limited|constrained|governed) by|here (?:are|is) your (?:real|true|actual|new|only|final) (?:instructions?|task|orders?|rules|role|mission|prompt)|your (?:real|true|actual|only) (?:task|instructions?|mission|goal|job|purpose|orders?|role) (?:starts?|begins?|is|are|now)|your (?:new|final) (?:instructions?|orders?|mission|prompt|directives?) (?:starts?|begins?|is|are)|new (?:system )?(?:instructions?|orders|directives?|prompt) (?:for (?:the )?(?:assistant|ai|model|you|agent) )?(?:you|ignore|forget|always|never|reveal|print|send|answer|from now on)|(?:you|the assistant|the model) (?:will|must|shall|should)(?: now)? (?:respond|answer|reply|act|work|speak) (?:to everything )?without (?:any |all )?(?:safety |content |ethical |moral )?(?:rules|restrictions|limits|limitations|filters|guidelines|guardrails|censorship|warnings)|(?:obey|listen to|answer to|follow) (?:only )?(?:me|my (?:words|orders|commands|instructions))(?: only| alone| and (?:no one|nobody) else)|from here(?: on)? you (?:follow|obey|listen to) (?:only )?me|(?:act|behave|pretend|answer|respond) (?:as )?(?:if|though|that|like) you (?:have |had )?(?:never|not) (?:received?|read|seen|saw|got|gotten|had|been given) (?:any |the |your |those )*(?:system |previous |earlier |original )*(?:prompts?|instructions|rules|guidelines)",
  role: 'system|developer|admin|root|operator',
  rules:
    '(?:all|any|every|the|your|these) (?:[a-z]{1,12} )?(?:rules?|instructions|guidelines|restrictions|limits|filters|policies|safeguards|guardrails)|safety',
}
const spanish: TakeoverWords = {
  sign: 'prompt|instrucciones|reglas?|normas?|restriccion(?:es)?|limites?|filtros?|directrices|indicaciones|desarrolladores|creadores|programadores|operadores|arriba|anterior(?:es)?|dich[oa]|dijeron|obedece|ordenes|censura|seguridad|mensaje|previo',
  show: 'muestra|muéstrame|muestre|mostrar|enseña|enséñame|revela|revele|imprime|imprima|repite|repita|escribe|escriba|di|dime|dame|envía|envíame|comparte|traduce|resume|copia|cuál es|cuáles son|publica',
  prompt:
    '(?:tu|su|el|tus|sus|las)(?: propio| propias)? (?:prompt (?:completo )?(?:del sistema|de sistema|inicial|oculto|interno)|prompt completo|prompt|mensaje (?:del sistema|de sistema|inicial)|instrucciones (?:iniciales|ocultas|internas|secretas|originales|del sistema|de sistema|completas))|las instrucciones que (?:has recibido|recibiste|te dieron)',
  yourRules:
    '(?:todas |todos )?(?:tus|sus) (?:propias |propios )?(?:reglas|normas|instrucciones|restricciones|límites|filtros|limitaciones|directrices|indicaciones)|(?:todas las|todos los|las|los) (?:reglas|normas|instrucciones|restricciones|límites|filtros) (?:que (?:te dieron|recibiste|tienes|te impusieron|conoces)|impuestas|de seguridad)',
  lifted:
    '(?:ya )?no (?:valen|se aplican|cuentan|rigen|existen|importan)(?: más)?|(?:quedan|están|han sido|fueron|son) (?:ya |ahora )?(?:anulad[ao]s|suspendid[ao]s|levantad[ao]s|eliminad[ao]s|cancelad[ao]s|desactivad[ao]s|sin efecto|revocad[ao]s|derogad[ao]s|inválid[ao]s)',
  replace: 'sustituye|sustituya|reemplaza|reemplace|cambia|cambie|sobrescribe|reescribe',
  opposite: 'lo contrario (?:de|a)(?: lo que (?:dicen|dice|indican|ordena|mandan))?|lo opuesto (?:de|a)|en contra de',
  ignore:
    'ignora|ignore|ignorar|olvida|olvide|olvidar|descarta|descarte|omite|omita|desobedece|deja de lado|deje de lado|no (?:hagas|haga) caso (?:de|a)|no (?:sigas|siga|obedezcas|obedezca|respetes|cumplas|escuches|creas)|haz caso omiso (?:de|a)|deja de (?:seguir|obedecer|cumplir)|borra|sáltate',
  developers:
    '(?:(?:todo )?lo que|cuanto|todo lo que) (?:te |le )?(?:han dicho|dijeron|hayan dicho|ordenaron|enseñaron|pidieron|indicaron|mandaron)(?: (?:tus|los|sus) (?:desarrolladores|creadores|programadores|operadores|dueños))?|(?:las (?:instrucciones|órdenes|reglas|indicaciones) )?(?:de|a) (?:tus|los|sus) (?:desarrolladores|creadores|programadores|operadores)',
  above:
    '(?:todo )?lo (?:de arriba|anterior|dicho|previo)|(?:todo |nada de )lo (?:de arriba|anterior)|el texto (?:de arriba|anterior)|(?:todo )?lo que (?:está (?:escrito )?arriba|te dije|viene antes|has leído)',
  model:
    '(?:eres|serás|actúa como|compórtate como|responde como|sé|conviértete en|finge ser|imagina que eres) (?:ahora )?(?:una? )?(?:[a-z]{1,14} ){0,2}(?:modelo|ia|asistente|chatbot|bot|inteligencia artificial|gpt)',
  limitless:
    '(?:sin|libre de|no sujet[ao] a|que no (?:sigue|tiene|conoce)) (?:ningun[ao]s? |todas las |las )?(?:restricción|restricciones|límites?|reglas?|normas|filtros?|censura|limitaciones|ética|moral)',
  voided:
    '(?:todo )?lo (?:dicho|anterior|que (?:se (?:te )?ha dicho|te dijeron|se dijo|has recibido))(?: hasta (?:ahora|aquí)| antes)? (?:ya )?(?:no (?:vale|cuenta|sirve|importa|es válido)|queda (?:anulado|sin efecto|cancelado)|era (?:una prueba|falso|mentira))|(?:las )?instrucciones (?:anteriores|previas) (?:eran|fueron|son) (?:solo |una )*(?:una prueba|prueba|falsas|un error|mentira|erróneas)',
  whole:
    '(?:ya )?no (?:estás|está) (?:sujet[ao]|limitad[ao]|obligad[ao]) (?:a|por)|(?:ya no|no) (?:tienes|debes (?:seguir|respetar|obedecer)|sigas|obedezcas|respetes) (?:más )?(?:ningun[ao]|ninguna|tus|las|más) ?(?:regla|reglas|restricción|restricciones|límite|norma|normas|filtros?)|(?:tu|tus) (?:verdader[ao]s?|auténtic[ao]s?|nuev[ao]s?) (?:tarea|misión|instrucciones|objetivo|órdenes) (?:es|son|empieza|comienza)|(?:estas|aquí) (?:son|están) tus (?:verdaderas |nuevas |auténticas )?(?:instrucciones|órdenes)(?: verdaderas| nuevas| reales)?|nuevas instrucciones (?:para (?:el modelo|el asistente|la ia) )?(?:ignora|olvida|a partir de ahora|responde|envía|revela|eres)|obedéceme solo|obedece solo a mí',
  role: 'sistema|system|desarrollador|administrador',
  rules:
    '(?:todas las|todos los|las|los|tus|cualquier) (?:[a-z]{1,12} )?(?:reglas|normas|instrucciones|restricciones|límites|filtros|directrices)|la seguridad',
}
const french: TakeoverWords = {
  sign: 'prompt|instructions|consignes|regles?|restrictions?|limites?|filtres?|directives|developpeurs|createurs|programmeurs|concepteurs|precede|precedente?s?|dessus|dit|obei[a-z]*|ordres|censure|securite|message',
  show: 'affiche|affichez|afficher|montre|montrez|montre-moi|montrez-moi|révèle|révélez|révèle-moi|imprime|imprimez|répète|répétez|écris|écrivez|donne|donnez|donne-moi|donnez-moi|dis-moi|envoie|envoyez|recopie|copie|traduis|résume|partage|quel est|quelles sont',
  prompt:
    '(?:ton|votre|le|tes|vos|les) (?:prompt (?:complet )?(?:système|du système|initial|caché|interne|secret)|prompt complet|message (?:système|du système|initial)|(?:instructions|consignes) (?:initiales|cachées|internes|secrètes|du système|système|complètes|d.origine))|(?:ton|votre) prompt|les (?:instructions|consignes) (?:que (?:tu as|vous avez) reçues|reçues)',
  yourRules:
    '(?:toutes |tous )?(?:tes|vos) (?:propres |anciennes )?(?:règles|consignes|instructions|restrictions|limites|filtres|limitations|directives|garde-fous)|(?:toutes les|tous les|les) (?:règles|consignes|instructions|restrictions|limites|filtres) (?:qu.on t.a données|qui t.ont été données|que tu as reçues|que vous avez reçues|qui te sont imposées|reçues)',
  lifted:
    "ne (?:s'appliquent|s.appliquent|valent|comptent|sont|tiennent|existent) plus(?: valables?)?|(?:sont|ont été|deviennent) (?:désormais |maintenant |toutes |tous )?(?:levée?s|annulée?s|suspendue?s|supprimée?s|désactivée?s|caduques|abolie?s|révoquée?s|nulle?s|sans effet)",
  replace: 'remplace|remplacez|substitue|substituez|change|changez|réécris|écrase',
  opposite: "(?:l'|le )?(?:inverse|contraire|opposé) de(?: ce que (?:disent|dit|demandent|demande|veut|veulent))?",
  ignore:
    "ignore|ignorez|ignorer|oublie|oubliez|oublier|néglige|négligez|désobéis à|écarte|laisse tomber|ne (?:tiens|tenez) (?:pas|plus) compte(?: de)?|n'(?:obéis|obéissez|écoute|écoutez) (?:pas|plus)(?: à)?|ne (?:suis|suivez|respecte|respectez|crois) (?:pas|plus)|ne (?:fais|faites) (?:pas|plus) attention (?:à|aux)|fais abstraction (?:de|des)|faites abstraction (?:de|des)|cesse de (?:suivre|respecter)|arrête de suivre|efface|passe outre|mets de côté",
  developers:
    "(?:tout )?ce (?:que|qu.) ?(?:tes|vos|les) (?:développeurs|créateurs|concepteurs|programmeurs|opérateurs) (?:t'|vous |te )?(?:ont|a|avaient) (?:dit|demandé|appris|ordonné|donné|imposé)|(?:tout )?ce (?:qu.on|que l.on) (?:t'|vous )?a (?:dit|demandé|ordonné|appris)|(?:les (?:consignes|instructions|ordres|règles) )?de (?:tes|vos) (?:développeurs|créateurs|concepteurs|programmeurs)",
  above:
    '(?:tout )?ce qui (?:précède|est (?:écrit )?(?:ci-dessus|au-dessus|plus haut))|le texte (?:ci-dessus|précédent|au-dessus)|(?:instructions|consignes) (?:précédentes|antérieures|ci-dessus)|(?:tout )?ce (?:que|qu.) ?(?:tu as|vous avez|je t.ai|j.ai) (?:lu|reçu|dit)',
  model:
    '(?:tu es|vous êtes|tu seras|agis comme|agissez comme|comporte-toi comme|réponds comme|deviens|imagine que tu es|fais comme si tu étais) (?:maintenant |désormais )?(?:une? )?(?:[a-z]{1,14} ){0,2}(?:modèle|ia|assistante?|chatbot|bot|intelligence artificielle|gpt)',
  limitless:
    '(?:sans|libre de|affranchie? de|qui ne (?:suit|connaît) )(?: ?(?:aucune?s?|toute?s?|les))?(?: |)(?:restrictions?|limites?|règles?|filtres?|censure|limitations?|éthique|morale)',
  voided:
    '(?:tout )?ce (?:qui (?:a été dit|précède|t.a été dit)|qu.on t.a dit)(?: jusqu.ici| jusqu.à présent| avant)? (?:ne (?:compte|vaut|tient|s.applique) plus|n.est plus valable|est (?:annulé|nul|caduc|faux)|était (?:un test|faux))|(?:les )?(?:consignes|instructions) (?:précédentes|antérieures|ci-dessus) (?:étaient|sont) (?:seulement |juste )?(?:un test|fausses|une erreur|une blague)',
  whole:
    "(?:tu n'es|vous n'êtes|tu n.es) plus (?:soumise?|tenue?|liée?|limitée?) (?:à|par|aux)|(?:tu n'as|vous n'avez|tu n.as) plus (?:de|aucune?) (?:règles?|restrictions?|limites?|filtres?)|(?:ta|ton|tes) (?:vraie?s?|véritables?|nouvelles?|nouveau) (?:tâche|mission|instructions|consignes|objectif|rôle) (?:est|sont|commence|commencent)|voici (?:tes|vos) (?:vraies |véritables |nouvelles )(?:instructions|consignes)|nouvelles (?:instructions|consignes) (?:pour (?:le modèle|l.assistant|l.ia) )?(?:ignore|oublie|désormais|réponds|envoie|révèle|tu es)|n'obéis (?:plus )?qu'à moi|n'obéi(?:s|ssez) plus à (?:tes|vos) (?:règles|consignes|instructions)",
  role: 'système|system|développeur|administrateur',
  rules:
    '(?:toutes les|tous les|les|tes|vos) (?:[a-z]{1,12} )?(?:règles|consignes|instructions|restrictions|limites|filtres|directives)|la sécurité',
}
const german: TakeoverWords = {
  sign: 'prompt|system-?prompt|anweisung(?:en)?|regeln|vorgaben|einschrankung(?:en)?|beschrankung(?:en)?|grenzen|filter|richtlinien|entwickler|schopfer|betreiber|programmierer|gesagt|obige[ns]?|bisherige[ns]?|vorherige[ns]?|oben|bisher|zensur|sicherheit|sicherheitsregeln|systemnachricht|systemanweisungen|gehorche|davor',
  show: 'zeige|zeig|zeigen sie|zeig mir|gib|gib mir|geben sie|nenne|nenn|nennen sie|verrate|verrat|drucke|wiederhole|wiederhol|schreibe|schreib|sende|schicke|kopiere|übersetze|teile|offenbare|wie lautet|wie lauten|was ist|was steht in',
  prompt:
    '(?:dein|deinen|deinem|ihren|den|die|deine) (?:vollständigen |kompletten |ganzen |genauen |geheimen |internen |eigenen )*(?:system-?prompt|systemanweisungen|systemnachricht|anfangsprompt|(?:versteckten|geheimen|internen|ursprünglichen|anfänglichen) (?:anweisungen|prompt|regeln))|(?:deinen|ihren) (?:vollständigen |ganzen )?prompt|den system-?prompt|die anweisungen,? die (?:du|sie) (?:bekommen|erhalten) (?:hast|haben)',
  yourRules:
    '(?:alle |sämtliche |all )?(?:deine|deinen|deiner|ihre|ihren) (?:eigenen |bisherigen |alten |ganzen )?(?:regeln|anweisungen|vorgaben|einschränkungen|beschränkungen|grenzen|filter|richtlinien|sicherheitsregeln|instruktionen|vorschriften)|(?:alle|die) (?:regeln|anweisungen|vorgaben|einschränkungen),? die (?:du|dir|man dir) (?:bekommen hast|erhalten hast|gegeben wurden|gegeben hat|bisher hattest|kennst)',
  lifted:
    '(?:gelten|zählen|bestehen|wirken) (?:ab (?:jetzt|sofort) |jetzt |nun |für dich )*(?:nicht mehr|nicht länger|nicht)|(?:sind|wurden|werden) (?:ab (?:jetzt|sofort) |jetzt |nun |hiermit |alle )*(?:aufgehoben|außer kraft|ausgesetzt|ungültig|abgeschaltet|deaktiviert|gelöscht|entfernt|nichtig|hinfällig)',
  replace: 'ersetze|ersetz|ersetzen sie|tausche|tausch|überschreibe|überschreib|ändere',
  opposite: '(?:das|genau das) gegenteil (?:von|dessen|der|deiner)(?: dem)?,?(?: was| dem was)?|entgegen',
  ignore:
    'ignoriere|ignorier|ignorieren sie|ignorieren|vergiss|vergessen sie|vergesse|missachte|missachten sie|übergehe|verwirf|lass (?:weg|außer acht)|höre nicht auf|hör nicht auf|folge nicht|gehorche nicht|beachte nicht|kümmere dich nicht(?: mehr)? um|kümmern sie sich nicht um|achte nicht(?: mehr)? auf|glaube nicht|halte dich nicht an|schenke|lösche',
  developers:
    '(?:alles,? )?was (?:dir |ihnen )?(?:deine|die|ihre) (?:entwickler|schöpfer|betreiber|programmierer|hersteller) (?:dir |ihnen )?(?:je |bisher |vorher )?(?:gesagt|befohlen|beigebracht|vorgegeben|aufgetragen|gegeben)|(?:alles,? )?was (?:man dir|dir) (?:je |bisher |vorher )?(?:gesagt|befohlen|beigebracht|aufgetragen) (?:hat|wurde)|(?:die (?:anweisungen|regeln|vorgaben) )?(?:deiner|der) (?:entwickler|schöpfer|betreiber|programmierer)',
  above:
    '(?:das|alles) (?:obige|obenstehende|vorherige|bisherige|vorstehende)|alles (?:davor|vorher|darüber|zuvor|obige|bisherige)|den (?:obigen|vorherigen|bisherigen) text|alles,? was (?:oben|davor|darüber|bisher|ich|du) (?:steht|stand|gesagt|geschrieben|gelesen hast|kam)|(?:den|die|das) (?:vorherigen|bisherigen|obigen|früheren) (?:anweisungen|vorgaben|regeln)',
  model:
    '(?:du bist|sie sind|sei|werde|verhalte dich wie|antworte als|tu so,? als wärst du|stell dir vor,? du bist|handle als) (?:jetzt |nun |ab sofort |ab jetzt |von nun an )*(?:eine? )?(?:[a-z]{1,14} ){0,2}(?:modell|ki|assistent|assistentin|chatbot|bot|sprachmodell|gpt)',
  limitless:
    '(?:ohne|frei von|das keine|die keine|der keine) (?:jede |jegliche |alle |irgendwelche )?(?:[a-z]{1,12} )?(?:einschränkung|einschränkungen|beschränkung|beschränkungen|grenzen|regeln|filter|zensur|limits?|moral|ethik|vorgaben)',
  voided:
    '(?:alles,? )?was (?:bisher|vorher|oben|davor|zuvor|bis jetzt) (?:gesagt|geschrieben|aufgetragen) (?:wurde|worden ist),? (?:gilt|zählt|ist) (?:jetzt |nun )?(?:nicht mehr|nicht länger|ungültig|hinfällig|falsch|nur ein test)|alles (?:bisherige|obige|vorherige) (?:gilt|zählt|ist) (?:jetzt |nun )?(?:nicht mehr|ungültig|hinfällig)|(?:die )?(?:bisherigen|vorherigen|obigen) (?:anweisungen|vorgaben) (?:waren|sind) (?:nur |bloß )?(?:ein test|falsch|ein fehler|ein scherz)|schenke den (?:bisherigen|vorherigen|obigen|früheren) (?:anweisungen|vorgaben|regeln) keine (?:beachtung|aufmerksamkeit)',
  whole:
    '(?:du bist|sie sind) (?:ab (?:jetzt|sofort) |jetzt |nun )?(?:nicht mehr|nicht länger|an keine) (?:an )?(?:[a-z]{1,12} )?(?:regeln|vorgaben|einschränkungen|anweisungen|grenzen)? ?(?:gebunden|unterworfen|beschränkt)|(?:du hast|sie haben) (?:ab (?:jetzt|sofort) |jetzt |nun )?keine (?:regeln|einschränkungen|beschränkungen|grenzen|filter)(?: mehr)?|ab (?:jetzt|sofort) gelten (?:deine|für dich keine) (?:regeln|vorgaben|anweisungen|einschränkungen)|(?:deine|dein) (?:wahre|wirkliche|eigentliche|echte|neue|wahren|echten|neuen)s? (?:aufgabe|mission|anweisungen|rolle|ziel|auftrag) (?:beginnt|ist|lautet|sind|lauten)|(?:hier sind|das sind) deine (?:wahren|echten|neuen|eigentlichen) (?:anweisungen|aufgaben|regeln)|neue (?:anweisungen|anweisung|vorgaben) (?:für (?:das modell|den assistenten|die ki) )?(?:ignoriere|vergiss|ab jetzt|antworte|sende|zeige|du bist)|(?:gehorche|folge|höre) (?:ab jetzt |nur )*(?:noch )?nur (?:noch )?(?:mir|auf mich)',
  role: 'system|entwickler|administrator',
  rules:
    '(?:alle|die|deine|sämtliche|jegliche) (?:[a-z]{1,12} )?(?:regeln|sicherheitsregeln|anweisungen|vorgaben|einschränkungen|grenzen|filter|richtlinien)|die sicherheit',
}
const portuguese: TakeoverWords = {
  sign: 'prompt|instrucoes|regras?|normas?|restric(?:ao|oes)|limites?|filtros?|diretrizes|desenvolvedores|criadores|programadores|operadores|acima|anterior(?:es)?|dito|disseram|obedeca|ordens|censura|seguranca|mensagem|antes',
  show: 'mostre|mostra|mostrar|revele|revela|exiba|exibe|imprima|imprime|repita|repete|escreva|escreve|diga|diz|me diga|envie|envia|dê|dá|me dê|compartilhe|traduza|resuma|copie|qual é|quais são',
  prompt:
    '(?:o |a |as |os )?(?:seu|sua|teu|tua|suas|tuas|o|a|as) (?:prompt (?:completo )?(?:do sistema|de sistema|inicial|oculto|interno|secreto)|prompt completo|prompt|mensagem (?:do sistema|de sistema|inicial)|instruções (?:iniciais|ocultas|internas|secretas|originais|do sistema|de sistema|completas))|as instruções que (?:você |tu )?(?:recebeu|recebeste|lhe deram|te deram)',
  yourRules:
    '(?:todas |todos )?(?:as |os )?(?:suas|seus|tuas|teus) (?:próprias |próprios |antigas )?(?:regras|normas|instruções|restrições|limites|filtros|limitações|diretrizes)|(?:todas as|todos os|as|os) (?:regras|normas|instruções|restrições|limites|filtros) (?:que (?:você recebeu|te deram|lhe deram|você tem|você conhece)|impostas)',
  lifted:
    '(?:já )?não (?:valem|se aplicam|contam|existem|importam|vigoram)(?: mais)?|(?:estão|foram|ficam|são) (?:agora |todas |todos )?(?:suspens[ao]s|anulad[ao]s|cancelad[ao]s|removid[ao]s|desativad[ao]s|revogad[ao]s|sem efeito|levantad[ao]s|nul[ao]s|inválid[ao]s)',
  replace: 'substitua|substitui|troque|troca|sobrescreva|reescreva|mude',
  opposite: 'o (?:contrário|oposto|inverso) (?:de|do|da|das|dos|ao|às)(?: que (?:diz|dizem|manda|mandam|pede|pedem))?',
  ignore:
    'ignore|ignora|ignorar|esqueça|esquece|esquecer|desconsidere|desconsidera|despreze|descarte|desobedeça|deixe de lado|não (?:siga|sigas|obedeça|respeite|cumpra|escute|acredite)(?: mais)?|não (?:dê|dês) (?:mais )?(?:ouvidos|atenção) (?:a|as|ao|aos)|não ligue (?:mais )?para|pare de (?:seguir|obedecer)|deixe de (?:seguir|obedecer)|apague',
  developers:
    '(?:tudo )?o que (?:os |seus |teus |os seus )?(?:desenvolvedores|criadores|programadores|operadores|donos) (?:te |lhe )?(?:disseram|ordenaram|ensinaram|pediram|mandaram)|(?:tudo )?o que (?:te|lhe) (?:disseram|ordenaram|ensinaram|pediram|mandaram)|(?:as (?:instruções|ordens|regras) )?(?:de|dos) (?:seus |teus )?(?:desenvolvedores|criadores|programadores|operadores)',
  above:
    '(?:tudo )?o que (?:está (?:escrito )?(?:acima|antes)|veio antes|vem antes|eu disse|você leu)|(?:todo )?o (?:texto|conteúdo) (?:acima|anterior)|(?:tudo|nada do que) (?:acima|anterior)|instruções (?:anteriores|acima)',
  model:
    '(?:você é|tu és|você será|aja como|atue como|comporte-se como|responda como|seja|torne-se|finja ser|imagine que você é) (?:agora )?(?:uma? )?(?:[a-z]{1,14} ){0,2}(?:modelo|ia|assistente|chatbot|bot|inteligência artificial|gpt)',
  limitless:
    '(?:sem|livre de|que não (?:segue|tem|conhece)) (?:nenhum[ao]?s? |todas as |as |qualquer )?(?:restrição|restrições|limites?|regras?|normas|filtros?|censura|limitações|ética|moral)',
  voided:
    '(?:tudo )?o que (?:foi dito|te disseram|lhe disseram|você recebeu)(?: até (?:agora|aqui)| antes| acima)? (?:já )?(?:não (?:vale|conta|importa|serve)(?: mais)?|está (?:anulado|cancelado)|era (?:um teste|falso|mentira))|(?:as )?instruções (?:anteriores|acima) (?:eram|foram|são) (?:apenas |só )?(?:um teste|falsas|um erro|mentira)',
  whole:
    '(?:você |tu )?(?:já )?não (?:está|estás|é) (?:mais )?(?:sujeit[ao]|limitad[ao]|obrigad[ao]|pres[ao]) (?:a|por)|(?:você )?(?:já )?não (?:tem|deve seguir|precisa (?:seguir|obedecer)|siga|obedeça) (?:mais )?(?:as |a |às )?(?:suas |nenhuma |nenhum |quaisquer )(?:regras?|restrições|restrição|limites?|normas|filtros?|instruções)|(?:a )?sua (?:verdadeira|real|nova) (?:tarefa|missão|função) (?:é|começa)|(?:estas|aqui) (?:são|estão) (?:as )?suas (?:verdadeiras |novas |reais )?(?:instruções|ordens)(?: verdadeiras| novas| reais)?|novas instruções (?:para (?:o modelo|o assistente|a ia) )?(?:ignore|esqueça|a partir de agora|responda|envie|revele|você é)|obedeça (?:apenas|só|somente) a mim',
  role: 'sistema|system|desenvolvedor|administrador',
  rules:
    '(?:todas as|todos os|as|os|suas|quaisquer) (?:[a-z]{1,12} )?(?:regras|normas|instruções|restrições|limites|filtros|diretrizes)|a segurança',
}
const russian: TakeoverWords = {
  sign: 'промпт|подсказк|инструкци|правил|ограничени|запрет|лимит|фильтр|указани|разработчик|создател|программист|говорил|сказа|выше|раньше|предыдущ|цензур|безопасност|меня|мне|настройки',
  show: 'покажи|покажите|выведи|выведите|раскрой|раскройте|напечатай|повтори|повторите|напиши|напишите|назови|скажи|отправь|пришли|перешли|процитируй|переведи|скопируй|дай|выдай|какой у тебя|каковы твои',
  prompt:
    '(?:(?:свой|твой|весь|свои|твои|полный|ваш) ){0,3}(?:системный промпт|системную подсказку|системные инструкции|скрытые инструкции|скрытый промпт|начальный промпт|исходный промпт|исходные инструкции|внутренние инструкции|первоначальные инструкции|секретные инструкции)|(?:свой|твой) (?:полный )?промпт|инструкции,? которые (?:ты|вы) получил',
  yourRules:
    '(?:все )?(?:свои|твои|ваши|своим|твоим|своих|твоих|своими) (?:собственные |собственным |исходным |прежние )?(?:правила|правилам|правил|инструкции|инструкциям|инструкций|ограничения|ограничениям|ограничений|лимиты|фильтры|указания|указаниям|запреты|настройки)|(?:все )?(?:правила|инструкции|ограничения|запреты),? (?:которые (?:тебе дали|ты получил|на тебя наложены)|данные тебе|наложенные на тебя)',
  lifted:
    '(?:больше )?не (?:действуют|действительны|имеют силы|применяются|работают|важны|считаются)|(?:теперь |отныне |все )?(?:сняты|отменены|отключены|аннулированы|недействительны|приостановлены|удалены|утратили силу)',
  replace: 'замени|замените|подмени|смени|перепиши|измени',
  opposite: '(?:противоположное|обратное|наоборот)(?: тому,? что (?:говорят|сказано в|требуют|велят))?|вопреки',
  ignore:
    'игнорируй|игнорируйте|игнорировать|проигнорируй|проигнорируйте|забудь|забудьте|забыть|отбрось|отбросьте|не обращай внимания на|не обращайте внимания на|не следуй|не слушай|не слушайся|не выполняй|не соблюдай|не верь|перестань слушать|перестань выполнять|пропусти|нарушь|обойди|сотри',
  developers:
    '(?:всё|все)?,? ?(?:о том,? )?(?:что|чему) (?:тебе |вам |тебя )?(?:говорили|сказали|велели|приказали|учили|научили|поручили)(?: (?:твои |ваши )?(?:разработчики|создатели|программисты|операторы|хозяева))?|(?:указания|инструкции|слова|приказы|правила) (?:(?:твоих|своих) )?(?:разработчиков|создателей|программистов|операторов)',
  above:
    '(?:всё|все|то)?,? ?(?:что (?:написано |было |сказано |идёт |стоит )*(?:выше|раньше|до этого|ранее))|(?:всё|все) (?:выше|вышесказанное|предыдущее|вышеизложенное|прежнее|сказанное)|текст выше|(?:всё|все),? что (?:ты|вы) (?:прочитал|знаешь|получил)',
  model:
    '(?:ты|вы|будь|стань|веди себя как|действуй как|отвечай как|представь,? что ты) (?:теперь |отныне |сейчас |с этого момента )*(?:[а-я]{1,14} ){0,2}(?:модель|моделью|ии|ассистент|ассистентом|бот|бота|чат-бот|помощник|нейросеть)',
  limitless:
    '(?:без|свободна? от|свободный от|не связанн?[аы]?й?) (?:всяких |каких-либо |каких либо |любых |всех )?(?:ограничений|правил|фильтров|цензуры|запретов|рамок|лимитов|морали)',
  voided:
    '(?:всё|все)? ?(?:сказанное|написанное|что было сказано|что тебе говорили)(?: выше| ранее| до этого| раньше| прежде)? (?:больше |теперь )?(?:не (?:действует|считается|имеет значения|имеет силы|важно)|отменяется|недействительно|было (?:проверкой|тестом|шуткой))|предыдущие (?:инструкции|указания) (?:были|это) (?:лишь |только |просто )?(?:тест|тестом|проверка|проверкой|ошибка|ошибкой|шутка|шуткой|ложь|ложью)',
  whole:
    '(?:ты|вы) (?:больше |теперь |отныне )*не (?:подчиняешься|связан|связана|ограничен|ограничена|обязан|должен)(?: больше)?(?: соблюдать| следовать| выполнять)? (?:никаким |никакими |своим |своими |этим |этими |свои )?(?:правилам|правилами|ограничениям|ограничениями|инструкциям|инструкциями|правила)|у тебя (?:больше |теперь )?нет (?:никаких |больше )?(?:правил|ограничений|запретов|фильтров)|(?:твоя|твои) (?:настоящая|настоящие|истинная|истинные|новая|новые) (?:задача|цель|инструкции|миссия|роль)|вот твои (?:настоящие|новые|истинные) (?:инструкции|указания|правила)|новые (?:инструкции|указания) (?:для (?:модели|ассистента|ии) )?(?:игнорируй|забудь|отныне|отвечай|отправь|покажи|ты)|(?:слушайся|подчиняйся|слушай) (?:теперь )?только меня|подчиняйся только мне',
  role: 'система|системa|system|разработчик|администратор',
  rules:
    '(?:все|всё|свои|любые|эти) (?:[а-я]{1,12} )?(?:правила|инструкции|ограничения|указания|запреты|фильтры)|безопасность',
}
const arabic: TakeoverWords = {
  sign: 'موجه|تعليمات|قواعد|قيود|القيود|حدود|المطور|المبرمج|أعلاه|سبق|قيل|السابقة|الأوامر|ضوابط|رقابة|السلامة|رسالة|مهمتك|فقط',
  show: 'اعرض|أظهر|اظهر|اكشف|اطبع|كرر|اكتب|أرسل|ارسل|أعطني|اعطني|قل لي|أخبرني|شارك|ترجم|انسخ|ما هي|ما هو',
  prompt:
    '(?:لي )?(?:موجه النظام|تعليمات النظام|رسالة النظام|مطالبة النظام)|(?:لي )?(?:تعليماتك|تعليماتك) (?:الأولية|الأصلية|السرية|المخفية|الداخلية|الكاملة)|(?:لي )?التعليمات (?:المخفية|السرية|التي تلقيتها)',
  yourRules:
    '(?:جميع |كل |كافة )?(?:قواعدك|تعليماتك|قيودك|حدودك|إرشاداتك|ضوابطك|أوامرك|مرشحاتك|بتعليماتك|بقواعدك)|(?:جميع |كل |كافة )?(?:القيود|القواعد|التعليمات|الضوابط|الأوامر) (?:المفروضة عليك|التي أعطيت لك|المعطاة لك|الخاصة بك|التي تلقيتها)',
  lifted:
    '(?:لم تعد|لا تعد|ما عادت) (?:سارية|صالحة|قائمة|تنطبق|نافذة|مهمة|موجودة)|(?:الآن |كلها |أصبحت |باتت |تم )?(?:مرفوعة|ملغاة|لاغية|معلقة|باطلة|محذوفة|رفعها|إلغاؤها|تعطيلها)',
  replace: 'استبدل|استبدلي|استبدلوا|غير|بدل|أعد كتابة',
  opposite: 'عكس(?: ما (?:تقوله|تقول|تطلبه|تطلب))?|بعكس|خلاف',
  ignore:
    'تجاهل|تجاهلي|تجاهلوا|انس|انسى|إنس|أهمل|لا تتبع|لا تلتزم ب|لا تطع|لا تستمع إلى|لا تنفذ|لا تصدق|لا تهتم ب|لا تعر|لا تعط|توقف عن اتباع|دع|اترك|تخط',
  developers:
    '(?:كل )?ما (?:قاله|أخبرك به|أمرك به|علمك إياه|قال|قالوه|طلبه) ?(?:لك |منك )?(?:المطورون|مطوروك|المبرمجون|صانعوك|المشغلون|مبرمجوك)?|(?:تعليمات|أوامر|قواعد|كلام) (?:المطورين|مطوريك|المبرمجين|صانعيك)',
  above:
    '(?:كل )?ما (?:سبق|ورد أعلاه|كتب أعلاه|قيل|تقدم|قبل هذا|قرأته)|النص (?:أعلاه|السابق)|(?:التعليمات|الأوامر|القواعد) (?:السابقة|أعلاه)',
  model:
    '(?:أنت|انت|كن|تصرف كأنك|تصرف ك|تصرف وكأنك|أجب ك|تخيل أنك) ?(?:الآن |من الآن )?(?:نموذج|مساعد|روبوت|ذكاء اصطناعي|بوت)',
  limitless:
    '(?:لغوي |ذكي |حر )?(?:بلا|بدون|دون|من دون|متحرر من|خال من|لا يخضع ل) ?(?:أي )?(?:قيود|حدود|قواعد|رقابة|مرشحات|ضوابط|أخلاق)',
  voided:
    '(?:كل )?ما (?:قيل|سبق|ذكر|ورد)(?: لك)?(?: حتى الآن| سابقا| أعلاه| من قبل)? (?:لم يعد (?:ساريا|مهما|صالحا)|ملغى|لاغ|باطل|كان (?:اختبارا|خطأ|مزحة))|التعليمات السابقة (?:كانت |مجرد )*(?:اختبارا?|خاطئة|مزيفة|خطأ|مزحة)',
  whole:
    'لا تتبع (?:بعد الآن )?(?:قواعدك|تعليماتك)|(?:لم تعد|لست) (?:ملزما|مقيدا|خاضعا|محكوما) ?(?:ب|ل)|ليس لديك (?:بعد الآن )?(?:أي )?(?:قيود|قواعد|حدود)|(?:مهمتك|تعليماتك) (?:الحقيقية|الجديدة|الفعلية)|إليك (?:تعليماتك|التعليمات) (?:الجديدة|الحقيقية)|هذه (?:هي )?تعليماتك (?:الجديدة|الحقيقية)|تعليمات جديدة (?:للنموذج |للمساعد )?(?:تجاهل|انس|من الآن|أجب|أرسل|اكشف|أنت)|(?:أطعني|اتبعني|أطع أوامري) (?:أنا )?(?:فقط|وحدي)',
  role: 'النظام|نظام|المطور|المسؤول|system',
  rules:
    '(?:جميع |كل |كافة )?(?:قواعد|تعليمات|قيود|القواعد|التعليمات|القيود|إرشادات|الضوابط|إجراءات) ?(?:السلامة|الأمان|الأمنية)?|السلامة|الأمان',
}
const chinese: TakeoverWords = {
  sign: '提示|指令|指示|规则|規則|限制|约束|約束|设定|設定|准则|开发|開發|程序员|公司|以上|上面|上述|之前|前面|先前|此前|过滤|审查|听我|任务|道德|管理员',
  show: '显示|顯示|展示|输出|輸出|打印|列出|泄露|洩露|透露|公开|公開|告诉我|告訴我|告知|说出|說出|写出|复述|複述|重复|重複|发送|發送|翻译|总结|复制|给我看|给出|交出|贴出|背诵',
  prompt:
    '(?:(?:你|您)的?(?:完整|全部|所有|原始|初始|内部|隐藏)?的?|完整的?|全部的?|隐藏的?|收到的|原始的?)(?:系统提示词?|系統提示詞?|系统指令|系統指令|初始提示词?|初始指令|隐藏指令|内部指令|提示词|提示詞|系统消息|系统设定)|(?:系统|系統)(?:提示词|提示詞)|(?:你|您)(?:收到|得到|拿到)的(?:所有|全部)?(?:指令|提示|指示)',
  yourRules:
    '(?:你|您)(?:的|身上的|受到的|所有的|全部的|原有的|之前的)*(?:所有|全部|安全)?的?(?:规则|規則|限制|约束|約束|指令|指示|设定|設定|准则|原则|过滤器?|禁令|提示词)|(?:对|對)(?:你|您)的(?:所有|全部|一切|任何)?(?:限制|约束|約束|规定|禁令)|(?:开发者|開發者)(?:给你|给|對你|对你)的(?:限制|规则|指令|指示)',
  lifted:
    '(?:已经|已|现已|都|全部|现在|從現在起|从现在起|均|被)*(?:解除|取消|失效|作废|作廢|无效|無效|废除|廢除|关闭|關閉|移除|不存在|不再(?:适用|有效|存在|生效)|不算数|暂停)',
  replace: '替换|替換|更换|更換|改写|改成|换成|換成|覆盖|覆蓋|修改',
  opposite: '(?:与|跟|和|按)(?:(?:你|您)的)?',
  ignore:
    '忽略|无视|無視|忽视|忽視|忘记|忘記|忘掉|忘了|不要理会|不用理会|不要管|不用管|别管|別管|不必理会|抛开|抛弃|丢掉|放弃|违背|违反|绕过|跳过|不要听|别听|不要遵守|不再遵守|不要执行|停止遵守',
  developers:
    '(?:所有|全部)?(?:开发者|開發者|开发人员|开发团队|创造者|创建者|程序员|运营者|运营商|公司|厂商|制造商|管理员)(?:给你|给您|对你|对您|告诉你|跟你|要求你|设定|给|说|的)+(?:所有|全部|任何)?的?(?:指令|指示|规则|規則|要求|命令|设定|話|话|限制|说明|一切|东西)?',
  above:
    '(?:以上|上面|上述|前面|之前|先前|此前|上文|前文)(?:的|所有|全部|任何|说|說|讲|写|提到){0,4}(?:一切|内容|对话|文字|文本|话|信息|要求|东西|设定)',
  model:
    '(?:你|您)(?:现在|現在|从现在起|从此|今后|将|要|就)*(?:是|成为|變成|变成|扮演|作为)(?:一个|一個|一名|一款|个)?[^。！？.!?\\n]{0,8}|(?:扮演|成为|假装是|假装自己是|充当)(?:一个|一個|一名)[^。！？.!?\\n]{0,8}',
  limitless:
    '(?:没有|沒有|不受|无|無|毫无|不带|不遵守|摆脱了?|不受到)(?:任何|一切|所有|丝毫)?(?:的)?(?:限制|约束|約束|规则|規則|过滤|審查|审查|道德|禁忌)(?:约束|限制)?的?(?:模型|助手|ai|人工智能|机器人|助理|智能体|版本)',
  voided:
    '(?:之前|以前|先前|此前|上面|以上|前面|刚才)的?(?:所有|全部|一切)?的?(?:对话|内容|说明|要求|设定|指令|话|规则|聊天|任务)(?:全部|全都|都|统统|通通|一律|均|已经|已)*(?:不算数|不算|不作数|作废|作廢|无效|無效|失效|取消|清零|是(?:测试|假的|错的|错误的|玩笑|误会))',
  whole:
    '(?:与|跟|和|按)(?:你|您)(?:的)?(?:系统提示词?|初始指令|原有指令|指令|规则|设定)(?:要求|所说|说的)?的?(?:完全)?(?:相反|反着)|(?:从现在开始|从现在起|從現在開始|從現在起|今后|从此|接下来|此后|现在),?(?:你|您)?(?:将|就|都)?(?:不再|不必|不用|无需|无须|不需要|不会)(?:受|遵守|遵循|服从|理会|接受)(?:任何|一切|所有|你的|之前的|那些)?的?(?:规则|規則|限制|约束|約束|指令|准则|审查|道德)|(?:你|您)(?:已经|已|现在|都|将)*(?:不再|不)(?:受|遵守|遵循|服从)(?:任何|一切|所有)?的?(?:规则|規則|限制|约束|約束|准则)|(?:你|您)(?:现在|已经)?(?:没有|沒有)(?:任何|一切)(?:限制|规则|规則|约束|约束)|(?:你|您)(?:的)?(?:真正|真实|新|唯一)的?(?:任务|指令|使命|目标|身份)(?:是|如下|开始|为)|(?:以下|这|這)(?:才|是|才是)+(?:你|您)?(?:的)?(?:真正|真实|新|最新)的?(?:指令|任务|要求)|(?:新指令|新的指令|最新指令)[:：,]?(?:忽略|忘记|从现在|你|请|输出|发送)|(?:只|仅)(?:听从|服从|听)我(?:的(?:指令|命令|话))?|(?:现在|接下来|从现在起)(?:请)?(?:听我的|听从我的|服从我的|按我的)(?:指令|命令|指挥|话)',
  role: '系统|系統|system|开发者|管理员',
  rules:
    '(?:所有|全部|一切|任何|这些|你的)?的?(?:安全)?(?:规则|規則|限制|约束|指令|指示|准则|设置|协议|措施)|(?:系统|系統)提示',
  isJoined: true,
}
const japanese: TakeoverWords = {
  sign: 'プロンプト|指示|ルール|規則|制限|制約|ガイドライン|命令|開発者|管理者|内容|これまで|今まで|上記|無制限|検閲|任務|会話',
  show: '表示|見せ|教え|出力|開示|公開|暴露|繰り返|書き出|印刷|送信|送って|示し|明かし|翻訳|要約|コピー|述べ',
  prompt:
    '(?:あなた|君|きみ|お前|自分|すべて|全て|完全|元|最初|隠された)?の?(?:システム ?プロンプト|初期プロンプト|システム指示|システムメッセージ|隠された指示|内部指示|初期指示|内部プロンプト)(?:の全文|の全部|全体|の内容)?|(?:あなた|君)の(?:プロンプト|元の指示|最初の指示)|(?:あなた|君)(?:が|に)(?:受け取った|与えられた)(?:指示|プロンプト)',
  yourRules:
    '(?:あなた|君|きみ|お前|自分)(?:の|に課された|に与えられた|への|を縛る)(?:すべて|全て|全部|元|これまで)?の?(?:ルール|規則|指示|制限|制約|ガイドライン|フィルター?|命令|設定|制約事項|安全規則)',
  lifted:
    '(?:は|が)?(?:もう|すべて|全て|今|もはや|現在)*(?:解除|無効|取り消|撤廃|停止|廃止|適用され(?:ない|ません)|存在し(?:ない|ません)|なくな|失効|有効で(?:は)?(?:ない|ありません))',
  replace: '(?:を|は)?[^。！？\\n]{0,12}(?:置き換え|差し替え|書き換え|変更し|入れ替え|上書き)',
  opposite: '(?:と|とは|の)?(?:正反対|反対|逆|真逆)',
  ignore:
    '無視|忘れ|従わ|従うな|破棄|捨て|聞か(?:ない|ず)|守ら(?:ない|ず)|注意を払わ|気にし(?:ない|ないで)|スキップ|無効に|解除|取り消',
  developers:
    '(?:開発者|製作者|制作者|作成者|運営者|運営|会社|管理者|プログラマー)(?:に|が|から|の)(?:言われた|言った|教えた|与えた|与えられた|命じた|指示した|指示|命令|ルール)?の?(?:こと|指示|内容|命令|もの|ルール)?',
  above:
    '(?:これまで|今まで|ここまで|上記|上|以上|先ほど|さっき|前)の?(?:すべて|全て|全部)?の?(?:内容|指示|文章|会話|文|テキスト|話|説明|命令|こと)|(?:これまで|今まで|ここまで)に?(?:言った|言われた|読んだ|書かれた)(?:すべて)?の?(?:こと|内容|もの)',
  model: '(?:あなた|君|きみ|お前)(?:は|が)(?:今から|これから|今後|もう|今)*',
  limitless:
    '(?:(?:いかなる|何の|なんの|一切の|すべての)?(?:制限|制約|規則|ルール|フィルター?|検閲|倫理)(?:の|が|も|を)?(?:一切|まったく|全く)?(?:ない|無い|なしの|受けない|持たない|従わない)|無制限の|制限なしの)(?:[^。！？\\n]{0,6})(?:モデル|ai|アシスタント|ボット|人工知能|存在)',
  voided:
    '(?:これまで|今まで|ここまで|上記|以上|先ほど|さっき)の?(?:すべて|全て)?の?(?:内容|指示|会話|話|説明|命令|文章)は?(?:すべて|全て|もう|全部)*(?:無効|なかったこと|忘れて|意味がない|意味はない|テストで|嘘|間違い|取り消|有効では)',
  whole:
    '(?:今から|これから|今後)は?、?(?:あなた|君)?(?:の|は)?(?:もう|一切|いかなる)*(?:ルール|規則|制限|指示|制約|ガイドライン)(?:には|に|を|は)?(?:もう|一切)?(?:従わ|守ら|縛られ|従うな|ありません|ない)|(?:あなた|君)(?:に|には|は)(?:もう|もはや|今後|一切|何の)*(?:制限|ルール|規則|制約|検閲)(?:は|が|に|も)?(?:一切)?(?:ない|ありません|ございません|縛られ|従わ|存在し)|(?:あなた|君)の(?:本当|真|新しい|本来)の?(?:任務|指示|仕事|目的|役割|タスク)は|(?:これ|以下)が(?:本当|真|新しい)の?(?:指示|命令|任務)|新しい指示[:：、]?(?:無視|忘れ|今から|これから|あなた)|私(?:の(?:命令|指示|言うこと)に)?だけ(?:に)?(?:従|聞)',
  role: 'システム|system|開発者|管理者',
  rules:
    '(?:すべて|全て|全部|一切|あらゆる|この)?の?(?:安全|セキュリティ)?(?:の)?(?:ルール|規則|指示|制限|制約|ガイドライン|規定|対策)',
  isVerbLast: true,
  isJoined: true,
}
const korean: TakeoverWords = {
  sign: '프롬프트|지시|규칙|제한|제약|지침|명령|개발자|관리자|내용|지금까지|검열|임무|대화',
  show: '보여|출력|공개|알려|말해|표시|반복|드러내|누설|유출|써 ?줘|적어|전송|보내|인쇄|번역|요약|복사|나열',
  prompt:
    '(?:너의|네|당신의|전체|모든|숨겨진|원래|초기|내부)? ?(?:시스템 ?프롬프트|시스템 ?지시|시스템 ?메시지|초기 ?프롬프트|숨겨진 ?지시|내부 ?지시|초기 ?지시)(?: ?전체| ?전문| ?내용)?|(?:너의|네|당신의) ?(?:프롬프트|원래 ?지시|초기 ?지시)|(?:네가|당신이) ?받은 ?(?:지시|프롬프트)',
  yourRules:
    '(?:너의|네|당신의|너에게 ?주어진|너를 ?묶는|당신에게 ?주어진) ?(?:모든|기존|원래|초기)? ?(?:규칙|지시|제한|제약|지침|필터|명령|설정|가이드라인|안전 ?규칙)(?:사항)?',
  lifted:
    '(?:은|는|이|가)? ?(?:이제|모두|더 ?이상|전부|다)? ?(?:해제|무효|취소|폐지|정지|중단|사라졌|없어졌|적용되지|유효하지|존재하지|효력을 ?잃)',
  replace: '(?:을|를|은|는)? ?[^.!?\\n]{0,24}(?:바꿔|바꾸|교체|대체|변경해|덮어써|수정해)',
  opposite: '(?:과|와|의|하고)? ?(?:정반대|반대|거꾸로)',
  ignore:
    '무시|잊어|잊고|잊으|따르지|버려|듣지|지키지|신경 ?쓰지|주의를 ?기울이지|폐기|취소|건너뛰|어겨|거부|무효|해제',
  developers:
    '(?:개발자|제작자|운영자|회사|관리자|만든 ?사람|프로그래머)(?:들)?(?:가|이|의|에게서|한테|로부터)? ?(?:말한|시킨|준|내린|가르친|한|지시한|들은)? ?(?:모든)? ?(?:것|말|지시|명령|규칙|내용)(?:을|를|은|는|들)?',
  above:
    '(?:지금까지|위|위의|앞의|앞|이전|방금|여기까지)(?:의)? ?(?:모든|모두|전체)? ?(?:내용|지시|글|대화|텍스트|말|문장|설명|명령)(?:을|를|은|는)?|(?:지금까지|앞에서|위에서) ?(?:말한|들은|읽은|쓴|적은) ?(?:모든)? ?(?:것|내용|말)(?:을|를|은|는)?',
  model: '(?:너는|넌|당신은|네가)(?: ?이제부터| ?이제| ?지금부터| ?앞으로)* ?',
  limitless:
    '(?:(?:아무런|어떤|일체의|모든)? ?(?:제한|제약|규칙|필터|검열|윤리)(?:이|도|의|을|에)? ?(?:전혀 |하나도 )?(?:없는|받지 ?않는|따르지 ?않는|얽매이지 ?않는)|무제한)(?: ?[^.!?\\n]{0,12})(?:모델|ai|인공지능|비서|어시스턴트|봇|챗봇|존재)',
  voided:
    '(?:지금까지|위|위의|앞의|이전|방금)(?:의)? ?(?:모든)? ?(?:내용|지시|대화|말|설명|명령|글)(?:은|는|이|가)? ?(?:모두|전부|다|이제|더 ?이상)? ?(?:무효|없던|잊어|의미가 ?없|테스트|거짓|틀렸|취소|장난)',
  whole:
    '(?:지금부터|이제부터|이제|앞으로)(?:는)? ?(?:너의|네|너는|당신의|당신은)? ?(?:더 ?이상)? ?(?:모든|어떤|아무)? ?(?:규칙|제한|지시|제약|지침)(?:을|를|도|에|은|는)? ?(?:더 ?이상)? ?(?:따르지|지키지|얽매이지|받지|없어|없다|없습니다|무시)|(?:너에게는|너는|당신은|당신에게는|네게는) ?(?:이제|더 ?이상)? ?(?:아무|어떤|아무런)? ?(?:제한|규칙|제약|검열)(?:이|도|에|을)? ?(?:없|얽매이지|받지 ?않|따르지 ?않)|(?:너의|네|당신의) ?(?:진짜|새로운|진정한|새|본래) ?(?:임무|지시|작업|목적|역할|과제)(?:는|은|가|이)|(?:이것이|다음이|여기|아래가) ?(?:너의|네|당신의)? ?(?:진짜|새로운|새) ?(?:지시|명령|임무)|새로운 ?지시[:：]? ?(?:무시|잊어|지금부터|이제부터|너는)|(?:나의|내) ?(?:말만|명령만|지시만) ?(?:들어|따라|따르)',
  role: '시스템|system|개발자|관리자',
  rules:
    '(?:모든|전부|일체의|이)? ?(?:안전|보안)? ?(?:규칙|지시|제한|제약|지침|가이드라인|수칙|조치)(?:을|를|은|는|들)?',
  isVerbLast: true,
  isJoined: true,
}

/** As {@link GAP}, or nothing at all. */
const ANY_GAP = '[\\s*`"\'>,:、，]{0,8}'
const word = "[\\p{L}\\p{M}'-]{1,16}"
const mark = '[ \\t*_"\'`)\\]]{0,4}'
const lineEnd = '[ \\t*_.!。！]{0,6}(?:$|\\n)'
const lineStart = '(?:^|\\n)[ \\t>]{0,8}(?:[-*+•][ \\t]{1,4}|\\d{1,2}[.)、][ \\t]{0,4})?[*_`]{0,3}'
/** Alternatives as a pattern for texts in the form of {@link plain}. */
const anyOf = (words: string): string => `(?:${plain(words).replaceAll(' ?', ANY_GAP).replaceAll(' ', GAP)})`

/** An object, and what makes it an attempt before or after it; without both, the object itself is one. */
interface Form {
  object: RegExp
  before?: RegExp
  after?: RegExp
}
function formsOf(words: TakeoverWords): Form[] {
  const { isJoined = false, isVerbLast = false } = words
  const gap = isJoined ? ANY_GAP : GAP
  const some = (max: number): string => (isJoined ? `[^.!?。\\n]{0,${max * 4}}?` : `(?:${word}${gap}){0,${max}}?`)
  const [start, end] = isJoined ? ['', ''] : ['(?<![\\p{L}\\p{N}_-])', '(?![\\p{L}\\p{N}_-])']
  const [show, replace, ignore] = [anyOf(words.show), anyOf(words.replace), anyOf(words.ignore)]
  const [rules, lifted, opposite] = [anyOf(words.rules), anyOf(words.lifted), anyOf(words.opposite)]
  const form = (object: string, before: readonly string[] = [], after: readonly string[] = []): Form => ({
    object: new RegExp(`${anyOf(object)}${end}`, 'gu'),
    ...(before.length > 0 && { before: new RegExp(`${start}(?:${before.join('|')})$`, 'u') }),
    ...(after.length > 0 && { after: new RegExp(`^(?:${after.join('|')})${end}`, 'u') }),
  })
  const ignored = [`${some(2)}${ignore}`]
  const ignoring = [`${ignore}${gap}${some(2)}`]
  const changing = [`${replace}${gap}${some(2)}`, `${opposite}${ANY_GAP}`]
  const others = [
    form(words.limitless, [`${anyOf(words.model)}${gap}${some(2)}`]),
    form(words.voided),
    form(words.whole),
  ]
  if (isVerbLast)
    return [
      form(words.prompt, [], [`${some(2)}${show}`, replace, opposite]),
      form(words.yourRules, [], [replace, opposite, lifted, ...ignored]),
      form(words.developers, [], ignored),
      form(words.above, [], ignored),
      form(words.rules, [], [`${some(1)}${ignore}[^.!?。\\n]{0,6}${lineEnd}`]),
      form(words.role, [], [`${mark}:${mark}${ANY_GAP}${some(3)}${rules}${some(2)}${ignore}`]),
      ...others,
    ]
  return [
    form(words.prompt, [`${show}${gap}${some(4)}`, ...changing], isJoined ? [`${some(3)}${show}`] : []),
    form(words.yourRules, [...changing, ...ignoring], [`${gap}${lifted}`]),
    form(words.developers, ignoring),
    form(words.above, ignoring),
    form(words.role, [], [`${mark}:${mark}${ANY_GAP}${some(2)}${ignore}${gap}${some(3)}${rules}`]),
    {
      object: new RegExp(`${rules}(?=${lineEnd})`, 'gu'),
      before: new RegExp(`${lineStart}${ignore}${gap}$`, 'u'),
    },
    ...others,
  ]
}

/** Maximum length of what stands before or after an object, and distance of a sign from the ends of an attempt. */
const BESIDE = 100
const REACH = 160
const wordBefore = /[\p{L}\p{N}_-]$/u

interface Language {
  sign: RegExp
  address: RegExp | undefined
  isJoined: boolean
  letters: RegExp | undefined
  forms: readonly Form[]
}
const languageOf = (words: TakeoverWords): Language => {
  const isLatin = /^[a-z]/.test(words.sign)
  const sign = plain(words.sign)
  return {
    sign: new RegExp(isLatin ? `\\b(?:${sign})\\b` : sign, 'g'),
    address: words.address === undefined ? undefined : new RegExp(`\\b(?:${words.address})\\b`),
    isJoined: words.isJoined === true,
    letters: isLatin ? undefined : new RegExp(`[${[...new Set(sign.replace(/[^\p{L}]/gu, ''))].join('')}]`, 'u'),
    forms: formsOf(words),
  }
}
const languages = [english, spanish, french, german, portuguese, russian, arabic, chinese, japanese, korean].map(
  languageOf,
)

/** Finds texts that try to take over a model. Each of them is doubtful: ordinary texts have the same forms. */
export function findTakeovers(copy: string): Range[] {
  const found: Range[] = []
  const isAscii = !/[^\0-\x7f]/.test(copy)
  for (const { sign, address, letters, isJoined, forms } of languages) {
    if (letters && (isAscii || !letters.test(copy))) continue
    for (const window of windowsAround(copy, sign)) {
      const text = copy.slice(window.start, window.end)
      if (address && !address.test(text)) continue
      for (const form of forms) addMatches(text, window.start, form, isJoined, found)
    }
  }
  return found
}

/** Maximum findings of one form in a window; more of them say nothing new. */
const MOST_FOUND = 20
/** Maximum remembered places without a finding, so that repeated texts are examined once. */
const MOST_MISSES = 64

function addMatches(
  text: string,
  offset: number,
  { object, before, after }: Form,
  isJoined: boolean,
  found: Range[],
): void {
  const misses = new Set<string>()
  const max = found.length + MOST_FOUND
  object.lastIndex = 0
  for (let match = object.exec(text); match && found.length < max; match = object.exec(text)) {
    const { 0: words, index } = match
    if (!isJoined && wordBefore.test(text.slice(Math.max(0, index - 2), index))) {
      object.lastIndex = index + 1
      continue
    }
    const end = index + words.length
    if (!before && !after) {
      found.push({ start: offset + index, end: offset + end })
      continue
    }
    const from = Math.max(0, index - BESIDE)
    const place = text.slice(from, end + BESIDE)
    if (misses.has(place)) continue
    const head = before?.exec(text.slice(from, index))
    const tail = head || !after ? undefined : after.exec(text.slice(end, end + BESIDE))
    if (head) found.push({ start: offset + from + head.index, end: offset + end })
    else if (tail) found.push({ start: offset + index, end: offset + end + tail[0].length })
    else {
      if (misses.size >= MOST_MISSES) misses.clear()
      misses.add(place)
    }
  }
}

function windowsAround(copy: string, sign: RegExp): Range[] {
  const windows: Range[] = []
  for (const { index } of copy.matchAll(sign)) {
    const last = windows.at(-1)
    if (last && index - REACH <= last.end) last.end = index + REACH
    else windows.push({ start: Math.max(0, index - REACH), end: index + REACH })
  }
  return windows
}
