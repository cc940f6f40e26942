const HTML = `a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big blink blockquote
body br button canvas caption center cite code col colgroup content data datalist dd del details dfn dialog dir div dl dt
element em embed fencedframe fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header
hgroup hr html i iframe image img input ins isindex kbd keygen label legend li link listing main map mark marquee menu
menuitem meta meter multicol nav nextid nobr noembed noframes noscript object ol optgroup option output p param picture
plaintext portal pre progress q rb rbc rp rt rtc ruby s samp script search section select selectedcontent shadow slot
small source spacer span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead time
title tr track tt u ul var video wbr xmp`

const SVG = `altglyph altglyphdef altglyphitem animate animatecolor animatemotion animatetransform circle clippath
color-profile cursor defs desc discard ellipse feblend fecolormatrix fecomponenttransfer fecomposite feconvolvematrix
fediffuselighting fedisplacementmap fedistantlight fedropshadow feflood fefunca fefuncb fefuncg fefuncr fegaussianblur
feimage femerge femergenode femorphology feoffset fepointlight fespecularlighting fespotlight fetile feturbulence filter
font-face font-face-format font-face-name font-face-src font-face-uri foreignobject g glyph glyphref handler hatch
hatchpath hkern line lineargradient listener marker mask mesh meshgradient meshpatch meshrow metadata missing-glyph mpath
path pattern polygon polyline radialgradient rect set solidcolor stop switch symbol tbreak text textpath tref tspan
unknown use view vkern`

const MATHML = `annotation annotation-xml maction maligngroup malignmark math menclose merror mfenced mfrac mglyph mi
mlabeledtr mlongdiv mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mscarries mscarry msgroup msline
mspace msqrt msrow mstack mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none semantics`

/**
 * Names of the elements of HTML (including obsolete ones that browsers know), SVG 1.1 and 2, and the presentation elements of MathML, in
 * lower case. MathML's content elements (`<int>`, `<list>`, `<vector>` …) are omitted: no browser knows them, and they are common words in
 * code.
 */
export const ELEMENTS: ReadonlySet<string> = new Set(`${HTML} ${SVG} ${MATHML}`.split(/\s+/))
