<?php
// Extensions: multibyte strings and XML documents, beside arrays, regular expressions and serialisation.
$maps = file_get_contents('/proc/self/maps');
file_put_contents('inside', (str_contains($maps, 'libhakmem') ? 'true' : 'false') . "\n");

$words = [];
$state = 1;
for ($i = 0; $i < 60000; $i++) {
    $state = ($state * 1103515245 + 12345) % 2147483648;
    $words[] = str_repeat(mb_chr(0x3b1 + $state % 24) . chr(97 + $state % 26), 1 + $state % 7);
}
$text = implode(' ', $words);
echo mb_strlen($text), ' ', strlen($text), ' ', md5(mb_strtoupper($text)), "\n";
echo md5(mb_convert_encoding($text, 'UTF-16LE', 'UTF-8')), ' ', mb_substr_count($text, 'αa'), "\n";
foreach (['UTF-16', 'UTF-32', 'ISO-8859-7', 'EUC-JP', 'SJIS', 'BIG-5', 'HTML-ENTITIES'] as $encoding) {
    echo $encoding, ' ', md5(@mb_convert_encoding($text, $encoding, 'UTF-8')), "\n";
}
mb_ereg_search_init($text, '[αβγ][a-f]+');
for ($found = 0; mb_ereg_search(); $found++);
echo $found, ' ', preg_match_all('/(\w)\w*\1/u', $text), "\n";

$document = new DOMDocument('1.0', 'UTF-8');
$root = $document->appendChild($document->createElement('words'));
foreach (array_count_values($words) as $word => $count) {
    $item = $root->appendChild($document->createElement('word', $word));
    $item->setAttribute('count', (string) $count);
}
$xml = $document->saveXML();
echo strlen($xml), ' ', md5($xml), "\n";
$again = new DOMDocument();
$again->loadXML($xml);
$path = new DOMXPath($again);
echo $path->query('//word[@count > 100]')->length, ' ', $path->evaluate('sum(//word/@count)'), "\n";
foreach (iterator_to_array($path->query('//word[@count < 50]')) as $node) {
    $node->parentNode->removeChild($node);
}
echo md5($again->saveXML()), "\n";
$elements = 0;
$parser = xml_parser_create();
xml_set_element_handler($parser, function () use (&$elements) { $elements++; }, function () {});
echo xml_parse($parser, $xml, true), ' ', $elements, "\n";
xml_parser_free($parser);
echo md5(serialize(unserialize(serialize($words)))), ' ', strlen(json_encode($words)), "\n";
